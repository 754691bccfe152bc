import Foundation
import Models
import ParleyPresentation
import ParleyStorage
import Testing

@Suite struct BubbleTests {
    @Test("a run is of one sender and one day, without a long pause, and an event ends it")
    func runs() {
        let bubbles = [
            said(1, by: ben, at: at(0)), said(2, by: ben, at: at(9)), said(3, by: anna, at: at(9)),
            said(4, by: anna, at: at(20)), happened(5, SystemEvent(kind: .memberAdded, userId: ben), by: anna),
            said(6, by: anna, at: at(21)),
        ].bubbles()
        #expect(bubbles.map(\.startsRun) == [true, false, true, true, true, true])
        #expect(bubbles.map(\.endsRun) == [false, true, true, true, true, true])
        let midnight = [said(1, at: at(719)), said(2, at: at(721))].bubbles()
        #expect(midnight.map(\.startsRun) == [true, true])
    }

    @Test("days are those of the place, and are named as seen from now")
    func days() {
        let bubbles = [said(1, at: at(0)), said(2, at: at(719)), said(3, at: at(721))].bubbles(now: at(800))
        #expect(bubbles.map(\.day) == ["Yesterday", nil, "Today"])
        var inTokyo = maker
        inTokyo.times = LocalTimes(timeZone: TimeZone(identifier: "Asia/Tokyo")!)
        let rows = [said(1, at: at(0)), said(2, at: at(719))].map { TimelineRow(message: $0) }
        #expect(inTokyo.bubbles(rows, now: at(800)).map(\.day) == ["Yesterday", "Today"])
    }

    @Test(
        "the name of a day",
        arguments: [
            (0, "Today"), (1, "Yesterday"), (2, "Wednesday"), (6, "Saturday"), (7, "14 November"),
            (400, "17 October 2024"), (-1, "22 November"),
        ] as [(Int64, String)])
    func dayNames(ago: Int64, name: String) {
        #expect(maker.times.dayName(at(-ago * 24 * 60), now: at(0)) == name)
        #expect(maker.times.brief(at(-ago * 24 * 60), now: at(0)) == (ago == 0 ? "12:00" : name))
    }

    @Test("what is deleted shows that it was, and nothing else of it; what is edited says so")
    func tombstones() {
        var edited = said(1)
        edited.editedAt = at(1)
        var deleted = edited
        deleted.text = nil
        deleted.deletedForEveryone = true
        deleted.replyTo = Reference(messageId: messageId(9), seq: 9)
        let bubbles = [edited, deleted].bubbles()
        #expect(bubbles.map(\.isEdited) == [true, false])
        #expect(bubbles.map(\.content) == [.text("text"), .deleted])
        #expect(bubbles[1].content.text == "Message deleted")
        let row = TimelineRow(message: deleted, parent: .init(id: messageId(9), senderId: ben, preview: "old"))
        #expect(maker.bubbles([row], now: at(0))[0].reference == nil)
    }

    @Test("a reply shows the first 50 characters of its parent, and its sender if it is another")
    func references() {
        let long = String(repeating: "👩‍👩‍👧", count: 60)
        let rows = [(anna, long), (ben, "short")].map { sender, text in
            TimelineRow(
                message: said(2, by: ben), parent: .init(id: messageId(1), senderId: sender, preview: text))
        }
        let references = maker.bubbles(rows, now: at(0)).map(\.reference)
        #expect(references[0]?.sender == anna && references[0]?.preview?.count == 50)
        #expect(references[1]?.sender == nil && references[1]?.preview == "short")
        #expect(maker.bubbles([TimelineRow(message: said(2))], now: at(0))[0].reference == nil)
    }

    @Test(
        "events are sentences",
        arguments: [
            (SystemEvent(kind: .memberAdded, userId: ben), "You added ben"),
            (SystemEvent(kind: .memberAdded, userId: anna), "You joined"),
            (SystemEvent(kind: .memberRemoved, userId: anna), "You left"),
            (SystemEvent(kind: .memberRemoved, userId: ben), "You removed ben"),
            (SystemEvent(kind: .memberChanged, userId: ben), "You changed the role of ben"),
            (
                SystemEvent(kind: .conversationRenamed, title: "Sun\u{202E}day\n"),
                "You named the conversation “Sunday”"
            ),
        ])
    func events(event: SystemEvent, text: String) {
        #expect([happened(1, event, by: anna)].bubbles()[0].content == .event(text))
    }

    @Test("a kind of a later version is shown as such")
    func unknown() {
        var message = said(1)
        message.kind = .unknown("song")
        #expect([message].bubbles()[0].content == .unknown)
    }

    @Test("a list's line says who wrote, in groups, and one's own is one's own anywhere")
    func previews() {
        let line = { MessagePreview.line(of: $0, viewer: anna, naming: $1, maker: maker) }
        #expect(line(said(1, by: ben, "one\n\n  two"), false) == "one two")
        #expect(line(said(1, by: ben, "one"), true) == "ben: one")
        #expect(line(said(1, by: anna, "one"), false) == "You: one")
        #expect(line(happened(1, SystemEvent(kind: .memberAdded, userId: anna), by: ben), true) == "ben added you")
    }
}
