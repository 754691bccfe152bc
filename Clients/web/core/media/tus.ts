import { failureOf } from "../browser.ts";
import type { MediaFacts } from "../model.ts";
import type { CallFailure } from "../sync/events.ts";

// The calls of tus 1.0.0 (tus.io/protocols/resumable-upload) that an upload needs, and what `media` adds to them.

export type Outcome<Value> = { value: Value } | { failure: CallFailure };

export interface UploadCalls {
  /** The id of the upload. */
  create(size: number, name: string, signal: AbortSignal): Promise<Outcome<string>>;
  /** How many bytes the server has. */
  offset(id: string, signal: AbortSignal): Promise<Outcome<number>>;
  /** How many bytes it has then. */
  append(id: string, offset: number, part: Blob, signal: AbortSignal): Promise<Outcome<number>>;
  facts(id: string, signal: AbortSignal): Promise<Outcome<MediaFacts>>;
  /** Ends an upload, or removes what was uploaded and not sent. */
  remove(id: string): Promise<Outcome<null>>;
}

const root = "/v1/media";
const version = { "Tus-Resumable": "1.0.0" };
/** For a part of a file: parts are as large as the connection takes in a second or two. */
const patience = 60_000;

/** Whether there is a service for files at an origin; undefined if nobody can be asked. */
export async function takesUploads(origin: string): Promise<boolean | undefined> {
  try {
    const response = await fetch(origin + root, { method: "OPTIONS", signal: AbortSignal.timeout(patience) });
    if (response.status >= 500) return undefined;
    return (response.headers.get("Tus-Version") ?? "").split(",").includes("1.0.0");
  } catch {
    return undefined;
  }
}

/** A value of `Upload-Metadata`. */
export function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Makes calls with a token of the user, and once more with a fresh one. */
export type Authorized = (call: (token: string) => Promise<Response>) => Promise<Response>;

export class TusCalls implements UploadCalls {
  constructor(private origin: string, private authorized: Authorized) {}

  create(size: number, name: string, signal: AbortSignal): Promise<Outcome<string>> {
    const headers = { "Upload-Length": String(size), "Upload-Metadata": `filename ${base64(name)}` };
    return this.call("POST", "", headers, (response) => idOf(response.headers.get("Location")), signal);
  }

  offset(id: string, signal: AbortSignal): Promise<Outcome<number>> {
    return this.call("HEAD", `/${id}`, {}, offsetOf, signal);
  }

  append(id: string, offset: number, part: Blob, signal: AbortSignal): Promise<Outcome<number>> {
    const headers = { "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
    return this.call("PATCH", `/${id}`, headers, offsetOf, signal, part);
  }

  facts(id: string, signal: AbortSignal): Promise<Outcome<MediaFacts>> {
    return this.call("GET", `/${id}`, {}, (response) => response.json(), signal);
  }

  remove(id: string): Promise<Outcome<null>> {
    return this.call("DELETE", `/${id}`, {}, () => null);
  }

  private async call<Value>(
    method: string,
    path: string,
    headers: Record<string, string>,
    value: (response: Response) => Value | Promise<Value>,
    signal?: AbortSignal,
    body?: Blob,
  ): Promise<Outcome<Value>> {
    try {
      const response = await this.authorized((token) => {
        const all = { ...version, ...headers, Authorization: `Bearer ${token}` };
        const signals = [AbortSignal.timeout(patience), ...(signal ? [signal] : [])];
        return fetch(this.origin + root + path, {
          ...{ method, body, headers: all, cache: "no-store" },
          signal: AbortSignal.any(signals),
        });
      });
      return response.ok ? { value: await value(response) } : { failure: await failureOf(response) };
    } catch {
      return { failure: {} };
    }
  }
}

/** Of an address of an upload, which may be relative. */
function idOf(location: string | null): string {
  const id = location?.split("/").at(-1);
  if (!id) throw new Error("an upload without an address");
  return id;
}

function offsetOf({ headers }: Response): number {
  const offset = Number(headers.get("Upload-Offset") ?? NaN);
  if (!Number.isSafeInteger(offset)) throw new Error("an upload without an offset");
  return offset;
}
