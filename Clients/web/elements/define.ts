import { Attachments } from "./attachments.ts";
import { Announcer } from "./announcer.ts";
import { Banner } from "./banner.ts";
import { ParleyChat } from "./chat.ts";
import { Composer } from "./composer.ts";
import { ConversationView } from "./conversation.ts";
import { Conversations } from "./conversation-list.ts";
import { ActionMenu } from "./menu.ts";
import { Search } from "./search.ts";
import { Timeline } from "./timeline.ts";

const elements: Record<string, CustomElementConstructor> = {
  "parley-announcer": Announcer,
  "parley-attachments": Attachments,
  "parley-banner": Banner,
  "parley-composer": Composer,
  "parley-conversation": ConversationView,
  "parley-conversations": Conversations,
  "parley-menu": ActionMenu,
  "parley-search": Search,
  "parley-timeline": Timeline,
  "parley-chat": ParleyChat,
};

/** Makes the elements known to the browser, once, however often the script is loaded. */
export function defineElements(): void {
  for (const [name, element] of Object.entries(elements)) {
    customElements.get(name) ?? customElements.define(name, element);
  }
}
