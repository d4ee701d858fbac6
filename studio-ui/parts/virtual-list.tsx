import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * The largest height of the scrolled element, in pixels. Browsers support about 17 million. Longer lists scroll in
 * proportion.
 */
const TALLEST = 8_000_000;
const OVERSCAN = 8;

interface Props {
  readonly label: string;
  readonly length: number;
  readonly rowHeight: number;
  readonly selected: number | undefined;
  readonly onSelect: (index: number) => void;
  readonly onWindow?: ((from: number, to: number) => void) | undefined;
  readonly row: (index: number) => ComponentChildren;
  /** Scrolls to the row at `index` whenever `moment` changes. */
  readonly reveal?: { readonly index: number; readonly moment: number } | undefined;
  readonly idOf: (index: number) => string;
  /** How many rows were added above the first one. The list scrolls by them, so that the visible rows do not move. */
  readonly lead?: number | undefined;
}

/**
 * A list of rows of equal height. Only the visible rows are drawn. Arrow keys, Page keys, Home and End move the
 * selection.
 */
export function VirtualList({
  label,
  length,
  rowHeight,
  selected,
  onSelect,
  onWindow,
  row,
  reveal,
  idOf,
  lead = 0,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const height = useSignal(600);
  const top = useSignal(0);
  const total = length * rowHeight;
  const tall = Math.min(total, TALLEST);
  // How many pixels of rows one pixel of the scroll bar stands for. More than 1 only for very long lists.
  const stretch = tall - height.value <= 0 ? 1 : Math.max(1, (total - height.value) / (tall - height.value));
  const offset = top.value * stretch;
  const from = Math.max(0, Math.floor(offset / rowHeight) - OVERSCAN);
  const to = Math.min(length - 1, Math.ceil((offset + height.value) / rowHeight) + OVERSCAN);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const ledBy = useRef(lead);
  useLayoutEffect(() => {
    const grown = lead - ledBy.current;
    ledBy.current = lead;
    if (grown === 0 || box.current === null) return;
    box.current.scrollTop += (grown * rowHeight) / stretch;
    top.value = box.current.scrollTop;
  }, [lead]);
  useLayoutEffect(() => onWindow?.(from, to), [from, to, length]);
  useLayoutEffect(() => {
    if (reveal !== undefined) scrollTo(reveal.index, "center");
  }, [reveal?.moment]);

  function scrollTo(index: number, where: "center" | "nearest"): void {
    const element = box.current;
    if (element === null) return;
    const room = element.clientHeight;
    const at = index * rowHeight;
    const isVisible = at >= element.scrollTop * stretch && at + rowHeight <= element.scrollTop * stretch + room;
    if (where === "nearest" && isVisible) return;
    const above =
      where === "center" || Math.abs(at - element.scrollTop * stretch) > room * 2
        ? (room - rowHeight) / 2
        : at < element.scrollTop * stretch
          ? 0
          : room - rowHeight;
    element.scrollTop = Math.max(0, (at - above) / stretch);
    top.value = element.scrollTop;
  }

  function move(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(height.value / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -length,
      End: length,
    };
    const step = steps[event.key];
    if (step === undefined || length === 0 || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(length - 1, Math.max(0, (selected ?? (step > 0 ? -1 : length)) + step));
    onSelect(next);
    scrollTo(next, "nearest");
  }

  const rows: ComponentChildren[] = [];
  for (let index = from; index <= to; index++) {
    const isSelected = index === selected;
    rows.push(
      <Row
        key={index}
        id={idOf(index)}
        index={index}
        length={length}
        height={rowHeight}
        isSelected={isSelected}
        onSelect={onSelect}
      >
        {row(index)}
      </Row>,
    );
  }
  return (
    <div
      ref={box}
      class="virtual"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={selected !== undefined && selected >= from && selected <= to ? idOf(selected) : undefined}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      onKeyDown={move}
    >
      <div class="virtual-space" style={{ height: `${tall}px` }} role="presentation">
        <div
          class="virtual-rows"
          role="presentation"
          style={{ transform: `translateY(${from * rowHeight - offset + top.value}px)` }}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  readonly id: string;
  readonly index: number;
  readonly length: number;
  readonly height: number;
  readonly isSelected: boolean;
  readonly onSelect: (index: number) => void;
  readonly children: ComponentChildren;
}

/** A row that is redrawn only when its content changes. Scrolling only moves it. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ children, isSelected, length }: Readonly<RowProps>): boolean {
    return children !== this.props.children || isSelected !== this.props.isSelected || length !== this.props.length;
  }

  override render({ id, index, length, height, isSelected, onSelect, children }: RowProps) {
    return (
      <div
        id={id}
        role="option"
        aria-selected={isSelected}
        aria-posinset={index + 1}
        aria-setsize={length}
        class="virtual-row"
        style={{ height: `${height}px` }}
        onClick={() => onSelect(index)}
      >
        {children}
      </div>
    );
  }
}

let moments = 0;
/** Makes a value for `reveal`. Each call has a new `moment`, so the same row can be revealed twice. */
export const revealing = (index: number) => ({ index, moment: ++moments });
