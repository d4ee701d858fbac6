interface Props<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly title: string }[];
  readonly selected: Id;
  readonly onSelect: (id: Id) => void;
}

/** A row of tabs. The arrow keys select the next or previous tab. */
export function TabBar<Id extends string>({ label, tabs, selected, onSelect }: Props<Id>) {
  function move(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.id);
    const bar = event.currentTarget as HTMLElement;
    bar.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          aria-selected={id === selected}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
