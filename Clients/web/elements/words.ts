import type { ConversationRow, UserNames } from "../core/client.ts";
import { kindOf, sealedTitle, shownText } from "../core/media/kinds.ts";
import {
  type Attachment,
  isFromReading,
  type Message,
  type MessageLifetime,
  type Problem,
  type ReportReason,
  type UserId,
} from "../core/model.ts";
import { may, permittedIn } from "../core/permissions.ts";
import { patternOf } from "./text.ts";

// What names, times and states are called.

export const notKept = "This message cannot be kept in this browser. Is its storage full?";

/** A name in a text between isolates, so that its direction turns nothing around it. It has none itself. */
export function isolated(names: UserNames, user: UserId): string {
  const name = names.of(user);
  return name === user ? user : `\u2068${name}\u2069`;
}

/** The same text for attributes, which are read out and not seen. */
export function plain(text: string): string {
  return text.replace(/[\u2068\u2069]/g, "");
}

/** Names in it are isolated, as in all that is made here. */
export function titleOf(row: ConversationRow, names: UserNames): string {
  if (row.conversation.title) return row.conversation.title;
  if (row.others.length) return list(row.others.map((user) => isolated(names, user)), row.conversation.memberCount - 1);
  return row.conversation.kind === "direct" ? "Direct conversation" : "Conversation";
}

/** "alice", "alice and bob", "alice, bob and 3 more". */
export function list(names: string[], count = names.length): string {
  if (names.length >= count) {
    return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  }
  return `${names.join(", ")} and ${count - names.length} more`;
}

/** One line for a list: what a message says. */
export function previewOf(message: Message, me: UserId | null, names: UserNames): string {
  if (message.kind === "system") return eventText(message, me, names);
  if (message.deletedForEveryone) return "Message deleted";
  const text = shownText(message);
  if (!message.mentions.length) return text;
  return text.replace(patternOf(message.mentions), (mention) => `@${isolated(names, mention.slice(1))}`);
}

/** "1 day", "4 weeks". */
export function lifetimeText(seconds: number): string {
  const units: [number, string][] = [[7 * 24 * 3_600, "week"], [24 * 3_600, "day"], [3_600, "hour"], [60, "minute"]];
  const [size, name] = units.find(([size]) => seconds % size === 0) ?? [1, "second"];
  const count = seconds / size;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** "" where they stay. */
export function lifetimeSentence(lifetime?: MessageLifetime): string {
  if (!lifetime) return "";
  const time = lifetimeText(lifetime.seconds);
  return `Messages disappear ${
    isFromReading(lifetime.from) ? `${time} after everybody has read them` : `after ${time}`
  }`;
}

export function eventText(message: Message, me: UserId | null, names: UserNames): string {
  const name = (user?: UserId) => user === me ? "You" : user === undefined ? "Somebody" : isolated(names, user);
  const actor = name(message.senderId);
  const event = message.event;
  switch (event?.kind) {
    case "conversation.created":
      return `${actor} started the conversation`;
    case "conversation.renamed":
      return event.title
        ? `${actor} named the conversation “${event.title}”`
        : `${actor} removed the name of the conversation`;
    case "member.added":
      return event.userId === message.senderId ? `${actor} joined` : `${actor} added ${lower(name(event.userId))}`;
    case "member.removed":
      return event.userId === message.senderId ? `${actor} left` : `${actor} removed ${lower(name(event.userId))}`;
    case "member.changed":
      return `${actor} changed the role of ${lower(name(event.userId))}`;
    default:
      return "The conversation changed";
  }
}

function lower(name: string): string {
  return name === "You" ? "you" : name;
}

// Files.

const megabyte = 1_000_000;

/** "820 bytes", "12 KB", "3.4 MB". */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < megabyte) return `${Math.round(bytes / 1_000)} KB`;
  return `${(bytes / megabyte).toFixed(bytes < 10 * megabyte && bytes % megabyte ? 1 : 0)} MB`;
}

/** "0:07", "1:02:03". */
export function durationText(seconds: number): string {
  const whole = Math.floor(seconds);
  const [minutes, rest] = [Math.floor(whole / 60), String(whole % 60).padStart(2, "0")];
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/** What a file is called where it cannot be seen: what it is, and its name, which its sender chose. */
export function nameOf(attachment: Attachment): string {
  const words = { photo: "Photo", video: "Video", audio: "Audio", file: "File" };
  return `${words[kindOf(attachment)]} ${attachment.name}`;
}

/** The text in a bubble. */
export function textOf({ kind, text }: Message): string {
  return kind === "sealed" ? sealedTitle : text ?? "";
}

/** For who does not see it: the text, and what it carries. */
export function spokenText(message: Message): string {
  return [...message.attachments?.map(nameOf) ?? [], textOf(message)].filter((part) => part).join(", ");
}

// Times, as the browser's language writes them. Formatters are kept: making one costs more than using it a thousand times.

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const shortDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const longDate = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "long" });
const wholeDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const day = 86_400_000;

export function timeText(time: string): string {
  return clock.format(new Date(time));
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** What a suspended user is told: until when, if it ends. */
export function suspensionText(until?: string): string {
  return `You are suspended${endOf(until)}. What you write is kept.`;
}

/** Why the server refused something, in words. */
export function refusalText({ code, detail, mode, until }: Problem): string {
  if (code !== "suspended") return detail;
  return (mode === "readOnly" ? "You may only read" : "You are suspended") + endOf(until);
}

function endOf(until?: string): string {
  return until === undefined ? "" : ` until ${moment.format(new Date(until))}`;
}

/** Days between two dates of the calendar here, whatever their hours. */
function daysAgo(date: Date, now: Date): number {
  return Math.round((startOfDay(now) - startOfDay(date)) / day);
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

export function isSameDay(one: string, other: string): boolean {
  return startOfDay(new Date(one)) === startOfDay(new Date(other));
}

/** The day it is here, as text. */
export function today(): string {
  return new Date().toDateString();
}

/** Calls `work` when another day has begun, or the clock was set: what is called "Today" is not any more. */
export function onNewDay(work: () => void): () => void {
  let known = today();
  const timer = setInterval(() => {
    if (today() === known) return;
    known = today();
    work();
  }, 30_000);
  return () => clearInterval(timer);
}

export function dayText(time: string, now = new Date()): string {
  const date = new Date(time);
  const ago = daysAgo(date, now);
  if (ago === 0) return "Today";
  if (ago === 1) return "Yesterday";
  if (ago > 1 && ago < 7) return weekday.format(date);
  return date.getFullYear() === now.getFullYear() ? longDate.format(date) : wholeDate.format(date);
}

/** For lists: the time today, then the day, then the date. */
export function briefTime(time: string, now = new Date()): string {
  const date = new Date(time);
  const ago = daysAgo(date, now);
  if (ago === 0) return clock.format(date);
  if (ago === 1) return "Yesterday";
  if (ago > 1 && ago < 7) return weekday.format(date);
  return date.getFullYear() === now.getFullYear() ? shortDate.format(date) : wholeDate.format(date);
}

export function wholeTime(time: string): string {
  return `${dayText(time)}, ${timeText(time)}`;
}

export const tapbackSigns: Record<string, string> = {
  love: "❤️",
  like: "👍",
  dislike: "👎",
  laugh: "😂",
  emphasize: "‼️",
  question: "❓",
};

export function signOf(kind: string): string {
  return tapbackSigns[kind] ?? kind;
}

/** Why one reports something, as the contract has it. */
export const reportReasons: Record<ReportReason, string> = {
  spam: "Spam",
  harassment: "Harassment or bullying",
  violence: "Violence or threats",
  sexual: "Sexual content",
  selfHarm: "Self-harm",
  illegal: "Something illegal",
  other: "Something else",
};

/** Why a member may not write; empty where they may. */
export function writingRefusal(row: ConversationRow): string {
  if (!row.isMember || may(row, "write")) return "";
  return `Only ${permittedIn(row, "write") === "admins" ? "admins" : "owners"} can write here.`;
}
