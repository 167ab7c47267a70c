/** What can go wrong between a program and its server, and what a handler throws to say how its run ends. */
import type { FieldError } from "./model.js";

/** Every error of this package. */
export class OrdoError extends Error {
  override name = "OrdoError";
}

/** The server did not answer: no connection, a connection cut off, or no answer in time. */
export class Unreachable extends OrdoError {
  override name = "Unreachable";
}

/** The answer is not one of Ordo's: a proxy's page, a redirect, another program on the port. */
export class ProtocolError extends OrdoError {
  override name = "ProtocolError";
  constructor(message: string, readonly status?: number) {
    super(message);
  }
}

/** The server refused: `code` is stable, branch on it; `detail` is for people. */
export class Problem extends OrdoError {
  override name = "Problem";
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly errors: readonly FieldError[] = [],
  ) {
    super(`${detail} (${status} ${code}${errors.map((one) => `; ${one.field}: ${one.message}`).join("")})`);
  }
}

/** The run was told to stop; `Context.throwIfCancelled` throws it, and a handler lets it through. */
export class Cancelled extends Error {
  override name = "Cancelled";
}

/** Thrown by a handler that did not begin the work: anybody may have the run after the delay. It costs no attempt. */
export class GiveBack extends Error {
  override name = "GiveBack";
  constructor(readonly delayMs = 0, readonly reason?: string) {
    super(reason ?? "given back");
  }
}

/** Whether trying again may help. */
export function isPassing(error: unknown): boolean {
  if (error instanceof Problem) {
    // Somebody has to make room first.
    if (error.code === "too_many_executors") return false;
    return error.status >= 500 || [408, 409, 429].includes(error.status);
  }
  return error instanceof Unreachable || error instanceof ProtocolError;
}

/** Whether the server does not know the executor any more. */
export function isForgotten(error: unknown): boolean {
  return error instanceof Problem && error.code === "executor_not_found";
}
