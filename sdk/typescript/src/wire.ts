/** How times and durations are written on the wire. */
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:[0-9]+(?:ms|d|h|m|s))+$/;

/** The milliseconds of `1h30m` or `500ms`; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/([0-9]+)(ms|d|h|m|s)/g)) {
    sum += Number(number) * (UNIT_MS[unit ?? ""] ?? 0);
  }
  return sum;
}

/** A duration as the server reads it: a text as it is, a number as milliseconds. */
export function durationText(duration: string | number): string {
  if (typeof duration === "string") return duration;
  if (!Number.isFinite(duration) || duration < 0) throw new RangeError(`${duration} is no duration`);
  return `${Math.round(duration)}ms`;
}
