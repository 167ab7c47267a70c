/**
 * Whether a job already is what was asked for.
 *
 * Only what was named is compared. The server fills in defaults and writes durations in their shortest form; neither is
 * a difference.
 */
import { durationMs } from "./wire.js";

type Fields = Record<string, unknown>;

/** The fields that differ. An input is a decision as a whole: what is not in it is not wanted. Tags have no order. */
export function changes(wanted: Fields, have: Fields): Fields {
  const differs: Fields = {};
  for (const [name, value] of Object.entries(wanted)) {
    if (value === undefined) continue;
    let same = isSame(value, have[name]);
    if (name === "tool_input") same = isEqual(value, have[name]);
    if (name === "tags") same = isEqual(asSet(value), asSet(have[name]));
    if (!same) differs[name] = value;
  }
  return differs;
}

function isSame(wanted: unknown, have: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(have) && have.length === wanted.length && wanted.every((one, i) => isSame(one, have[i]));
  }
  if (isFields(wanted)) {
    return isFields(have) && Object.entries(wanted).every(([name, one]) => one === undefined || isSame(one, have[name]));
  }
  if (typeof wanted === "string" && typeof have === "string") return moment(wanted) === moment(have);
  return wanted === have || (wanted === null && have === undefined);
}

function asSet(tags: unknown): unknown[] {
  return [...new Set(Array.isArray(tags) ? tags : [])].sort();
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** The same value with its names in order. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A duration or a time by its value; any other text as it is. */
function moment(text: string): number | string {
  const duration = durationMs(text);
  if (duration !== undefined) return duration;
  const time = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? text : time;
}
