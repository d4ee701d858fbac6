const PATHS = {
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 2v12M8 5h4.5M8 8h5.5M8 11h4.5",
  help: "M6 6a2 2 0 1 1 3 1.8c-.7.4-1 .8-1 1.7M8 12v.2",
  fork: "M4 3v10M4 10c6 0 8-1 8-6M12 4V3M12 2.5a.5.5 0 1 0 0 .1",
  stop: "M4.5 4.5h7v7h-7Z",
  send: "M8 13V3M4 7l4-4 4 4",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M3 4h10M3 8h10M3 12h10",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  check: "M3 8.5l3.5 3.5L13 4.5",
  shield: "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4Z",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  panel: "M2.5 3h11v10h-11ZM10 3v10",
  import: "M8 2v8M5 7l3 3 3-3M3 13.500h10",
  copy: "M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3",
  pencil: "M3 13l.7-3L11 2.700l2.300 2.300L6 12.300ZM9.500 4.200l2.300 2.300",
  again: "M13 3v3.500H9.500M12.700 6.500A5 5 0 1 0 13 9.500",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  tool: "M9.5 3.5a3 3 0 0 0-3.6 4L2.5 11l2.5 2.5 3.5-3.4a3 3 0 0 0 4-3.6L10.5 8 8 5.500Z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
