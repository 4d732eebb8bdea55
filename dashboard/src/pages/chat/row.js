// What happens to a row after it was made.

// What a row takes beside its texts, about.
const ROW_CHARS = 200;

export function finish(row, { data, attachments }) {
  const { result, durationMs, truncated, fullBytes } = data;
  Object.assign(row.call, { state: result.success ? "done" : "failed", result, output: result.output, durationMs, truncated, fullBytes });
  row.call.attachments.push(...attachments);
}

export function interrupt(row) {
  if (row.kind !== "assistant") return;
  row.isInterrupted = true;
}

export function sizeOf(row) {
  const attachments = row.attachments ?? row.call?.attachments ?? [];
  const texts = (row.text?.length ?? 0) + (row.thinking?.length ?? 0) + (row.call?.output?.length ?? 0);
  return attachments.reduce((sum, it) => sum + it.data.length, ROW_CHARS + texts);
}
