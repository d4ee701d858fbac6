export * from "heddle";
export { validateMessages } from "heddle/providers";
