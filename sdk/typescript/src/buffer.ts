/** What came and was not read yet, as an async iterator for one reader. */
export class EventBuffer<T> implements AsyncIterableIterator<T> {
  readonly #items: { item: T; size: number }[] = [];
  #waiting: { resolve: (next: IteratorResult<T>) => void; reject: (why: unknown) => void } | undefined;
  #end: { error?: unknown } | undefined;
  /** About how many characters wait. */
  size = 0;
  /** The reader is given one. */
  onRead: ((item: T) => void) | undefined;
  /** The reader has taken everything. */
  onEmpty: (() => void) | undefined;
  /** The reader went away before the end. */
  onLeft: (() => void) | undefined;

  get length(): number {
    return this.#items.length;
  }
  get isOver(): boolean {
    return this.#end !== undefined;
  }
  /** The newest that was not read yet, to be added to. */
  get newest(): T | undefined {
    return this.#items[this.#items.length - 1]?.item;
  }
  /** The newest has grown by so much. */
  grew(size: number): void {
    this.size += size;
  }
  push(item: T, size: number): void {
    if (this.#end) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) {
      this.onRead?.(item);
      return waiting.resolve({ value: item, done: false });
    }
    this.#items.push({ item, size });
    this.size += size;
  }
  /** Nothing more comes; what waits is still read. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = error === undefined ? {} : { error };
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) error === undefined ? waiting.resolve({ value: undefined, done: true }) : waiting.reject(error);
  }

  next(): Promise<IteratorResult<T>> {
    const first = this.#items.shift();
    if (first) {
      this.size -= first.size;
      this.onRead?.(first.item);
      if (this.#items.length === 0) {
        this.size = 0;
        this.onEmpty?.();
      }
      return Promise.resolve({ value: first.item, done: false });
    }
    const end = this.#end;
    if (end) {
      // Told once; after it there is nothing.
      this.#end = {};
      return "error" in end ? Promise.reject(end.error) : Promise.resolve({ value: undefined, done: true });
    }
    if (this.#waiting) return Promise.reject(new TypeError("one reader at a time"));
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
  }
  return(): Promise<IteratorResult<T>> {
    this.#items.length = 0;
    const left = this.#end === undefined;
    this.end();
    if (left) this.onLeft?.();
    return Promise.resolve({ value: undefined, done: true });
  }
  [Symbol.asyncIterator](): this {
    return this;
  }
}
