// Runs checks one after another. One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1 when one failed.
// Arguments of the program are parts of names; without any, all checks run.

/** Above the 30 s after which clients give up on a request. */
const CHECK_MS = 40_000;
/** Longer than any single step takes on a busy machine. */
const PATIENCE_MS = 30_000;

function limited(work, ms, why) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(why())), ms);
    Promise.resolve(work).then(resolve, reject).finally(() => clearTimeout(late));
  });
}

export const within = (promise, why) => limited(promise, PATIENCE_MS, () => why);

/** Waits until `probe` gives something true. */
export async function until(probe, why) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(typeof why === "function" ? why() : `waited in vain for ${why}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The error of something that must fail. */
export async function refused(promise) {
  const answer = await promise.then((value) => ({ value }), (error) => ({ error }));
  if (!("error" in answer)) throw new Error(`it was accepted: ${JSON.stringify(answer.value)}`);
  return answer.error;
}

/** `after`: called behind each check, whether it failed or not. */
export async function runChecks(checks, close, checkMs = CHECK_MS, after = async () => {}) {
  const wanted = process.argv.slice(2);
  let failed = 0;
  // What a check did not wait for any more may still fail; the check has said so already.
  process.on("unhandledRejection", () => {});
  for (const [name, work] of Object.entries(checks)) {
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
    try {
      await limited(work(), checkMs, () => `still running after ${checkMs} ms`).finally(after);
      console.log(`ok ${name}`);
    } catch (why) {
      failed++;
      console.log(`FAIL ${name}: ${String(why?.message ?? why).replaceAll("\n", " | ")}`);
      if (process.env.PEER_STACK) console.log(why?.stack);
    }
  }
  await close();
  process.exit(failed === 0 ? 0 : 1);
}
