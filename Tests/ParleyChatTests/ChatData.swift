import Foundation
import Models
import ParleyPresentation
import ParleyStorage

@testable import ParleyChat

let anna = UserID("anna")!
let ben = UserID("ben")!
let cleo = UserID("cleo")!
let noon: Int64 = 1_763_726_400_000  // 2025-11-21T12:00:00Z

func at(_ minutes: Int64) -> Timestamp { Timestamp(milliseconds: noon + minutes * 60_000) }

func talkId(_ number: UInt64 = 1) -> ConversationID { ConversationID(UUIDBytes(high: 1, low: number)) }

func messageId(_ number: Int64) -> MessageID { MessageID(UUIDBytes(high: 2, low: UInt64(number))) }

func said(_ seq: Int64, by sender: UserID = ben, _ text: String? = nil) -> Message {
    Message(
        id: messageId(seq), conversationId: talkId(), seq: seq, changeSeq: seq, senderId: sender, kind: .text,
        text: text ?? "text \(seq)", sentAt: at(0), createdAt: at(0))
}

func row(_ seq: Int64, by sender: UserID = ben, _ text: String? = nil) -> TimelineRow {
    TimelineRow(message: said(seq, by: sender, text))
}

/// A message that the server does not have.
func unsent(_ number: Int64, _ text: String, _ state: TimelineRow.State = .sending) -> TimelineRow {
    var message = said(number, by: anna, text)
    message.seq = 0
    return TimelineRow(message: message, state: state)
}

func refused(_ number: Int64, _ text: String = "much") -> TimelineRow {
    unsent(number, text, .failed(ProblemDetails(Problem(.tooLarge, "for a test"))))
}

func entry(
    _ number: UInt64 = 1, title: String? = "Sunday", lastSeq: Int64 = 0, unread: Int = 0, mentions: Int? = nil,
    readSeq: Int64 = 0, kind: ConversationKind = .group, windows: [Window] = [Window(from: 1)]
) -> ListEntry {
    let conversation = Conversation(
        id: talkId(number), kind: kind, title: title, createdAt: at(0), lastSeq: lastSeq, lastActivityAt: at(0),
        memberCount: 2, role: .member, windows: windows, unreadCount: unread, unreadMentions: mentions,
        readSeq: readSeq)
    return ListEntry(conversation: conversation)
}

/// A screen of anna's, with what it wants done.
struct Device {
    var screen = ChatScreen(user: anna, times: LocalTimes(timeZone: TimeZone(identifier: "UTC")!))
    var effects: [ChatEffect] = []
    var now = at(1)

    init(columns: Int = 80, rows: Int = 24) {
        apply(.resized(Size(columns: columns, rows: rows)))
        apply(.connection(.online))
    }

    /// With a conversation that is open.
    init(
        columns: Int = 80, rows: Int = 24, _ timeline: [TimelineRow], moreBefore: Bool = false, moreAfter: Bool = false
    ) {
        self.init(columns: columns, rows: rows)
        apply(.list([entry(lastSeq: timeline.map(\.message.seq).max() ?? 0)], hasMore: false))
        press(.enter)
        show(timeline, moreBefore: moreBefore, moreAfter: moreAfter)
        effects = []
    }

    mutating func apply(_ update: ChatUpdate) { effects += screen.apply(update, at: now) }

    mutating func show(
        _ rows: [TimelineRow], moreBefore: Bool = false, moreAfter: Bool = false, unreadFrom: Int64? = nil
    ) {
        let state = TimelineState(
            rows: rows, hasMoreBefore: moreBefore, hasMoreAfter: moreAfter, firstUnread: unreadFrom.map(messageId))
        apply(.timeline(talkId(), state))
    }

    mutating func press(_ keys: Key...) { for key in keys { effects += screen.handle(key, at: now) } }

    mutating func type(_ text: String) { for character in text { press(.text(String(character))) } }

    /// What it has wanted since the last time.
    mutating func done() -> [ChatEffect] {
        defer { effects = [] }
        return effects
    }

    /// Without those that every key has.
    mutating func deeds() -> [ChatEffect] {
        done().filter {
            switch $0 {
            case .typing, .keepDraft, .putDraft: false
            default: true
            }
        }
    }

    var text: [String] { screen.frame().text }

    /// Whether a text is on the screen.
    func shows(_ text: String) -> Bool { self.text.contains { $0.contains(text) } }
}
