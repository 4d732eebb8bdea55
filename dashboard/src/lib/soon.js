// Something that is to be done soon, however often it is said: at most once in `ms`, and never left out.

export function soon(ms, run) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      run();
    }, ms);
  };
}
