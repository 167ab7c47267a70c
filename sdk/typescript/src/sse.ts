/** Server-sent events, as they arrive. */
export interface SseEvent {
  event: string;
  data: string;
  id: string | undefined;
}

/** The events of a stream. One that was cut off in the middle is left out. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  let name = "message";
  let data: string[] = [];
  let id: string | undefined;
  for await (const line of lines(body)) {
    if (line === "") {
      if (data.length > 0) yield { event: name, data: data.join("\n"), id };
      name = "message";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const complete = rest.split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete) yield line.replace(/\r$/, "");
    }
  } finally {
    reader.releaseLock();
  }
}
