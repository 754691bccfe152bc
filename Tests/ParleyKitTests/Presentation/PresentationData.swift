import Foundation
import Models
import ParleyPresentation
import ParleyStorage

let noon: Int64 = 1_763_726_400_000  // 2025-11-21T12:00:00Z, a Friday.

func at(_ minutes: Int64) -> Timestamp { Timestamp(milliseconds: noon + minutes * 60_000) }

func said(_ number: Int64, by sender: UserID = ben, _ text: String = "text", at time: Timestamp = at(0)) -> Message {
    Message(
        id: messageId(UInt64(number)), conversationId: talk, seq: number, changeSeq: number, senderId: sender,
        kind: .text, text: text, sentAt: time, createdAt: time)
}

func happened(_ number: Int64, _ event: SystemEvent, by actor: UserID) -> Message {
    Message(
        id: messageId(UInt64(number)), conversationId: talk, seq: number, changeSeq: number, senderId: actor,
        kind: .system, text: nil, sentAt: at(0), createdAt: at(0), event: event)
}

/// As anna sees it, in UTC.
let maker = BubbleMaker(viewer: anna, times: LocalTimes(timeZone: TimeZone(identifier: "UTC")!))

extension [Message] {
    func bubbles(
        receipts: [MessageID: MessageReceipts] = [:], tapped: Set<MessageID> = [], now: Timestamp = at(0)
    ) -> [Bubble] {
        maker.bubbles(map { TimelineRow(message: $0) }, receipts: receipts, tapped: tapped, now: now)
    }
}

extension Bubble {
    func text(of decorator: String) -> String? { decorations.first { $0.id == decorator }?.text }
}

func failed(_ message: Message) -> TimelineRow { TimelineRow(message: message, state: .failed(problem(.tooLarge))) }
