import { blobKey, mostCachedBytes, type StoredPart } from "../copy/blobs.ts";
import type { Database } from "../copy/database.ts";
import type { Attachment, SignedAddress } from "../model.ts";
import type { Authorized } from "./tus.ts";

/** Loads of pictures at a time; the others wait, the latest first, because that is what one looks at. */
const atOnce = 6;

/** What is seen of files: from this device, or else from the server. */
export class Files {
  private loading = new Map<string, Promise<Blob>>();
  private waiting: (() => void)[] = [];
  private running = 0;
  /** What is not kept any more, though it may just be arriving. */
  private released = new Set<string>();

  constructor(private database: Database, private origin: string, private authorized: Authorized) {}

  /** The content that waits to be sent. */
  async local(key: string): Promise<Blob> {
    const blob = await this.database.blobs.get(blobKey(key));
    if (!blob) throw new Error("the file is not on this device");
    return blob;
  }

  /** Rejects if it is not on this device and cannot be loaded. */
  load({ id }: Attachment, part: StoredPart): Promise<Blob> {
    const key = blobKey(id, part);
    const present = this.loading.get(key);
    if (present) return present;
    const loading = this.find(id, part).finally(() => this.loading.delete(key));
    this.loading.set(key, loading);
    return loading;
  }

  private async find(id: string, part: StoredPart): Promise<Blob> {
    const key = blobKey(id, part);
    const kept = await this.database.blobs.get(key).catch(() => undefined);
    if (kept) return kept;
    const path = part === "content" ? "content" : `thumbnail?size=${part}`;
    const blob = await this.inTurn(async () => {
      const response = await this.fetch("GET", `/v1/media/${id}/${path}`);
      return await response.blob();
    });
    if (blob.size <= mostCachedBytes && !this.released.has(id)) {
      await this.database.blobs.put(key, blob, true).catch((error) =>
        console.warn("parley: a file is not kept", error)
      );
    }
    return blob;
  }

  private async inTurn<Value>(body: () => Promise<Value>): Promise<Value> {
    if (this.running >= atOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running += 1;
    try {
      return await body();
    } finally {
      this.running -= 1;
      this.waiting.pop()?.();
    }
  }

  /** An address without a token, for what plays or is downloaded. */
  async address({ id }: Attachment): Promise<SignedAddress> {
    const { url, expiresAt } = await (await this.fetch("POST", `/v1/media/${id}/url`)).json() as SignedAddress;
    return { url: new URL(url, this.origin).href, expiresAt };
  }

  release(ids: string[]): void {
    for (const id of ids) this.released.add(id);
  }

  private async fetch(method: string, path: string): Promise<Response> {
    // It is kept here, where it can be removed, and nowhere else.
    const response = await this.authorized((token) =>
      fetch(this.origin + path, { method, headers: { Authorization: `Bearer ${token}` }, cache: "no-store" })
    );
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response;
  }
}
