// The part of React that is used here. The package @types/react would change the types of the DOM in the whole project.
declare module "react" {
  export function useCallback<Callback>(callback: Callback, dependencies: readonly unknown[]): Callback;
  export function useEffect(effect: () => undefined | (() => void), dependencies: readonly unknown[]): void;
  export function useMemo<Value>(make: () => Value, dependencies: readonly unknown[]): Value;
  export function useRef<Value>(initial: Value): { current: Value };
  export function useState<Value>(initial: Value): [Value, (value: Value) => void];
}
