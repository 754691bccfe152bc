import type { Profile } from "../model.ts";
import type { CopyWriter } from "./copy.ts";

// What people are called. Of a profile the copy keeps no more than it shows.

/** More are not kept: then those who are shown are asked for anew. */
const mostKept = 5_000;

/** Version 0: there is none that the user may read. */
export async function storeProfiles(copy: CopyWriter, profiles: Profile[]): Promise<void> {
  for (const { userId, version, displayName } of profiles) {
    const known = await copy.rows.get("profiles", userId);
    // One that was read before another one was stored.
    if (version && known && version < known.version) continue;
    if (version) await copy.rows.put("profiles", { userId, version, displayName });
    else await copy.rows.remove("profiles", userId);
    copy.showProfiles();
  }
}

/** With each session: that is often enough for what grows by what a user looks at. */
export async function boundProfiles(copy: CopyWriter): Promise<void> {
  if ((await copy.rows.all("profiles", { limit: mostKept + 1 })).length <= mostKept) return;
  await copy.rows.removeAll("profiles");
  copy.showProfiles();
}
