import type { ConversationRow, ParleyClient } from "../core/client.ts";
import type { ConversationId, JoinRequest, JoinRequestPage } from "../core/model.ts";
import { personOf } from "./avatar.ts";
import { make } from "./dom.ts";
import { wholeTime } from "./words.ts";

/** Who asks to join a group, for those who let them in or not. */
export function joinRequests(client: ParleyClient, id: ConversationId) {
  const { names } = client;
  const node = make("div");
  /** For what they were asked of the server. */
  let askedFor: string | undefined;

  /** Whoever decides sees those who ask by their own links at once, and the others when somebody comes or goes. */
  function show({ conversation, joinRequested }: ConversationRow, decides: boolean): void {
    const state = decides ? `${conversation.memberCount} ${joinRequested}` : undefined;
    if (!decides) node.replaceChildren();
    else if (state !== askedFor) void load();
    askedFor = state;
  }

  /** Without a connection they are not shown. */
  async function load(): Promise<void> {
    const { requests, nextCursor } = await client.joinRequests(id).catch((): JoinRequestPage => ({ requests: [] }));
    if (askedFor === undefined) return;
    const list = make("ul.people", { "aria-label": "People who ask to join" }, ...requests.map(item));
    if (nextCursor) list.append(make("li.quiet", "and more"));
    node.replaceChildren(...requests.length ? [make("h3", "Requests to join"), list] : []);
  }

  function item({ userId, requestedAt, inviterId }: JoinRequest): HTMLElement {
    const [face, name] = personOf(names, userId);
    const inviter = inviterId === undefined ? "" : `, by the link of ${names.of(inviterId)}`;
    name!.append(make("span.id", `${wholeTime(requestedAt)}${inviter}`));
    const button = (action: string, label: string, decide: () => Promise<unknown>) => {
      const onclick = async () => {
        await decide();
        line.remove();
        if (!node.querySelector("li")) node.replaceChildren();
      };
      return make("button.link", { "aria-label": `${label} ${names.of(userId)}`, onclick }, action);
    };
    const line = make(
      "li",
      face!,
      name!,
      button("Let in", "Let in", () => client.addMember(id, userId)),
      button("Decline", "Decline", () => client.declineJoinRequest(id, userId)),
    );
    return line;
  }

  return { node, show };
}
