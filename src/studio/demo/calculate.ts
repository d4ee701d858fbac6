/** An error in an expression, with a message for the model. */
class NoNumber extends Error {}

/** Calculates an expression of numbers, + - * / % ^ and parentheses. Nothing is evaluated as code. */
export function calculate(expression: string): number {
  const parser = new Parser(expression.replaceAll("×", "*").replaceAll("÷", "/").replaceAll("−", "-"));
  const value = parser.whole();
  if (!Number.isFinite(value)) throw new NoNumber(`${expression} has no finite value.`);
  return Number(value.toPrecision(12)) + 0; // rounds, so that 0.1 + 0.2 is 0.3; and -0 becomes 0
}

const DEEPEST = 64;

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  }

  whole(): number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw this.#unexpected();
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (let sign = this.#take("+", "-"); sign !== undefined; sign = this.#take("+", "-")) {
      const next = this.#product();
      value = sign === "+" ? value + next : value - next;
    }
    return value;
  }

  #product(): number {
    let value = this.#signed();
    for (let sign = this.#take("*", "/", "%"); sign !== undefined; sign = this.#take("*", "/", "%")) {
      const next = this.#signed();
      if (sign !== "*" && next === 0) throw new NoNumber("Division by zero is not possible.");
      value = sign === "*" ? value * next : sign === "/" ? value / next : value % next;
    }
    return value;
  }

  #signed(): number {
    if (++this.#depth > DEEPEST) throw new NoNumber("The expression is nested too deeply.");
    const sign = this.#take("-", "+");
    const value = sign === undefined ? this.#power() : sign === "-" ? -this.#signed() : this.#signed();
    this.#depth -= 1;
    return value;
  }

  #power(): number {
    const base = this.#atom();
    return this.#take("^") === undefined ? base : base ** this.#signed();
  }

  #atom(): number {
    if (this.#take("(") !== undefined) {
      const value = this.#sum();
      if (this.#take(")") === undefined) throw this.#unexpected();
      return value;
    }
    const token = this.#tokens[this.#at] ?? "";
    if (!/^[\d.]/.test(token) || Number.isNaN(Number(token))) throw this.#unexpected();
    this.#at += 1;
    return Number(token);
  }

  #take(...wanted: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !wanted.includes(token)) return undefined;
    this.#at += 1;
    return token;
  }

  #unexpected(): NoNumber {
    const token = this.#tokens[this.#at];
    return new NoNumber(token === undefined ? "The expression ends too early." : `"${token}" is not expected there.`);
  }
}
