/**
 * One request at a time, JSON in and out, by the platform's own fetch.
 *
 * The token goes to the server it was given for: redirects are not followed.
 */
import { Problem, ProtocolError, Unreachable } from "./errors.js";
import type { FieldError } from "./model.js";

export interface RequestOptions {
  headers?: Record<string, string>;
  timeoutMs?: number;
}

export class Transport {
  readonly server: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;

  constructor(server: string, token: string | undefined, timeoutMs: number) {
    if (!/^https?:\/\/[^/]/.test(server)) {
      throw new TypeError(`${JSON.stringify(server)} is no address of a server: http://HOST:PORT or https://HOST`);
    }
    this.server = server.replace(/\/+$/, "");
    this.#headers = { accept: "application/json" };
    if (token) this.#headers["authorization"] = `Bearer ${token}`;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The answer of the server; throws Problem if it refused.
   *
   * A kept connection that turns out to be closed is replaced once. What must not happen twice carries an idempotency
   * key.
   */
  async request<T>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const signal = AbortSignal.timeout(options.timeoutMs ?? this.#timeoutMs);
    let answer: Response;
    let text: string;
    try {
      const ask = () => this.#fetch(method, path, sent, options.headers, signal);
      answer = await ask().catch((error: unknown) => {
        if (!isClosed(error)) throw error;
        return ask();
      });
      text = await answer.text();
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (!answer.ok) throw refusal(answer.status, answer.headers.get("location"), text);
    try {
      return (text === "" ? undefined : JSON.parse(text)) as T;
    } catch {
      throw new ProtocolError(`${this.server}${path} answered no JSON`, answer.status);
    }
  }

  /** An answer that is read as it comes, until the signal ends it. */
  async stream(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    let answer: Response;
    try {
      answer = await this.#fetch("GET", path, undefined, headers, signal);
      if (answer.status === 200 && answer.body) return answer.body;
      throw refusal(answer.status, answer.headers.get("location"), await answer.text());
    } catch (error) {
      throw error instanceof Problem || error instanceof ProtocolError ? error : this.#unreachable(error);
    }
  }

  #fetch(
    method: string,
    path: string,
    body: string | undefined,
    headers: Record<string, string> | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const sent: Record<string, string> = { ...this.#headers, ...headers };
    const init: RequestInit = { method, headers: sent, signal, redirect: "manual" };
    if (body !== undefined) {
      sent["content-type"] = "application/json";
      init.body = body;
    }
    return fetch(this.server + path, init);
  }

  #unreachable(error: unknown): Unreachable {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message || cause.name : String(cause);
    return new Unreachable(`${this.server} cannot be reached: ${why}`, { cause: error });
  }
}

/** Whether the other side had closed the connection before anything was answered. */
function isClosed(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(String(cause?.code));
}

function refusal(status: number, location: string | null, text: string): Problem | ProtocolError {
  try {
    const said = JSON.parse(text) as { code?: unknown; title?: string; detail?: string; errors?: FieldError[] };
    if (typeof said.code === "string") {
      return new Problem(status, said.code, said.title ?? "", said.detail ?? said.code, said.errors ?? []);
    }
  } catch {
    // Said below: whatever answered does not speak as Ordo does.
  }
  const detail = location ? ` and leads to ${location}: name that server instead` : ", not as Ordo does";
  return new ProtocolError(`the server answered ${status}${detail}`, status);
}
