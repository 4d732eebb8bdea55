/** What came and was not read yet, as an async iterator for one reader. */
export declare class EventBuffer<T> implements AsyncIterableIterator<T> {
    #private;
    /** About how many characters wait. */
    size: number;
    /** The reader is given one. */
    onRead: ((item: T) => void) | undefined;
    /** The reader has taken everything. */
    onEmpty: (() => void) | undefined;
    /** The reader went away before the end. */
    onLeft: (() => void) | undefined;
    get length(): number;
    get isOver(): boolean;
    /** The newest that was not read yet, to be added to. */
    get newest(): T | undefined;
    /** The newest has grown by so much. */
    grew(size: number): void;
    push(item: T, size: number): void;
    /** Nothing more comes; what waits is still read. */
    end(error?: unknown): void;
    next(): Promise<IteratorResult<T>>;
    return(): Promise<IteratorResult<T>>;
    [Symbol.asyncIterator](): this;
}
