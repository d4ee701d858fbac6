export { Page as default } from "../chat/page.jsx";
