export class EventBuffer {
#items = [];
#waiting;
#end;
size = 0;
onRead;
onEmpty;
onLeft;
get length() {
return this.#items.length;
}
get isOver() {
return this.#end !== undefined;
}
get newest() {
return this.#items[this.#items.length - 1]?.item;
}
grew(size) {
this.size += size;
}
push(item, size) {
if (this.#end)
return;
const waiting = this.#waiting;
this.#waiting = undefined;
if (waiting) {
this.onRead?.(item);
return waiting.resolve({ value: item, done: false });
}
this.#items.push({ item, size });
this.size += size;
}
end(error) {
if (this.#end)
return;
this.#end = error === undefined ? {} : { error };
const waiting = this.#waiting;
this.#waiting = undefined;
if (waiting)
error === undefined ? waiting.resolve({ value: undefined, done: true }) : waiting.reject(error);
}
next() {
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
this.#end = {};
return "error" in end ? Promise.reject(end.error) : Promise.resolve({ value: undefined, done: true });
}
if (this.#waiting)
return Promise.reject(new TypeError("one reader at a time"));
return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
}
return() {
this.#items.length = 0;
const left = this.#end === undefined;
this.end();
if (left)
this.onLeft?.();
return Promise.resolve({ value: undefined, done: true });
}
[Symbol.asyncIterator]() {
return this;
}
}
