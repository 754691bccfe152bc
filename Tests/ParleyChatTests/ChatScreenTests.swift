import Models
import ParleyPresentation
import ParleyStorage
import Testing

@testable import ParleyChat

@Suite struct ChatScreenTests {
    // MARK: The list

    @Test("the list shows titles, previews, drafts and what is unread")
    func list() {
        var device = Device()
        var second = entry(2, title: nil, kind: .direct)
        second.other = ben
        second.draft = Draft(text: "not yet")
        var first = entry(1, unread: 3)
        first.latest = row(1, by: cleo, "see\nyou")
        device.apply(.list([first, second], hasMore: true))
        #expect(!device.text[0].contains("unread"))
        // Seven are in a conversation further down.
        device.apply(.unread(10))
        #expect(device.text[0].contains("anna · 10 unread") && device.text[0].contains("online"))
        #expect(device.shows("Sunday"))
        #expect(device.shows("cleo: see you"))
        #expect(device.text.contains { $0.hasPrefix(" ben ") })
        #expect(device.shows("Draft: not yet"))
    }

    @Test("who is mentioned sees a sign beside what is unread, also where it is muted")
    func mentions() {
        var device = Device()
        var muted = entry(3, title: "Work", unread: 120, mentions: 2)
        muted.conversation.mutedUntil = .forever
        device.apply(
            .list([entry(1, unread: 3), entry(2, title: "Home", unread: 4, mentions: 1), muted], hasMore: false))
        #expect(device.shows("@  4 ") && device.shows("@  99+ ") && !device.shows("@  3 "))
    }

    @Test("moving in the list opens with Enter, and asks for more at its end")
    func moving() {
        var device = Device(rows: 12)
        device.apply(.list((1...8).map { entry($0, title: "talk \($0)") }, hasMore: true))
        device.press(.down, .down, .enter)
        #expect(device.deeds() == [.open(talkId(3))])
        device.press(.tab, .end)
        #expect(device.done().contains(.loadMoreConversations))
        #expect(device.shows("talk 8"))
    }

    @Test("what one keeps to oneself about a conversation has a key each, which also takes it away")
    func marks() {
        var device = Device()
        let plain = entry(), id = plain.conversation.id
        device.apply(.list([plain], hasMore: false))
        for key in ["m", "p", "a", "u"] { device.press(.text(key)) }
        #expect(device.deeds() == [.mute(id, true), .pin(id, true), .archive(id, true), .markUnread(id, true)])
        var kept = plain
        kept.conversation.mutedUntil = at(5)
        kept.conversation.pinOrder = 0
        kept.conversation.markedUnread = true
        device.apply(.list([kept], hasMore: false))
        #expect(device.shows("▴ ∅"))
        for key in ["m", "p", "u"] { device.press(.text(key)) }
        #expect(device.deeds() == [.mute(id, false), .pin(id, false), .markUnread(id, false)])
        device.now = at(5)
        device.apply(.time)
        #expect(!device.shows("∅"), "the mute has ended")
        device.press(.text("m"), .text("A"), .text("a"), .text("A"))
        #expect(
            device.deeds() == [.mute(id, true), .showFolder(.archive), .archive(id, false), .showFolder(.inbox)])
    }

    @Test("b blocks the other of a direct conversation, which is shown, and again ends that")
    func blocking() {
        var device = Device()
        var pair = entry(title: nil, kind: .direct)
        device.apply(.list([pair, entry(2)], hasMore: false))
        device.press(.text("b"))
        #expect(device.deeds().isEmpty && device.shows("not known yet"))
        pair.other = ben
        device.apply(.list([pair, entry(2)], hasMore: false))
        device.press(.text("b"))
        #expect(device.deeds() == [.block(ben, true)] && device.shows("ben is blocked"))
        pair.isBlocked = true
        pair.conversation.windows = [Window(from: 1, to: 1)]
        device.apply(.blocked([ben]))
        device.apply(.list([pair, entry(2)], hasMore: false))
        #expect(device.shows("⊘"))
        device.press(.enter)
        device.type("Hi")
        device.press(.enter)
        #expect(device.shows("⊘ blocked") && device.shows("You have blocked ben"))
        device.effects = []
        device.press(.tab, .text("b"), .down, .text("b"))
        #expect(device.deeds() == [.block(ben, false)] && device.shows("Ctrl-G names the members"))
    }

    /// A request of ben's, as the list of requests has it.
    private func request() -> ListEntry {
        var request = entry(2, title: nil, lastSeq: 1, unread: 1, kind: .direct)
        request.conversation.request = true
        request.requester = ben
        return request
    }

    @Test("requests are apart: a line above the list says how many, R or a click shows them and the list again")
    func requests() {
        var device = Device()
        device.apply(.list([entry()], hasMore: false))
        device.press(.text("R"))
        #expect(device.deeds().isEmpty && device.shows("Nobody whom you do not know"))
        device.apply(.requests(2))
        #expect(device.text[1].contains("Requests (2)") && device.text[2].contains("Sunday"))
        device.press(.click(column: 3, row: 2), .tab, .click(column: 3, row: 1))
        #expect(device.deeds() == [.open(talkId(1)), .showFolder(.requests)])
        device.apply(.list([request()], hasMore: false))
        #expect(device.text[1].contains("Requests") && !device.shows("Sunday │"))
        device.press(.enter, .tab)
        #expect(device.deeds() == [.open(talkId(2))], "not what is open already")
        device.press(.text("p"), .text("a"), .text("u"), .text("m"))
        #expect(device.deeds().isEmpty, "what one keeps to oneself is for conversations")
        device.press(.text("R"), .text("R"))
        #expect(device.deeds() == [.showFolder(.inbox), .showFolder(.requests)])
        device.apply(.requests(0))
        #expect(device.deeds() == [.showFolder(.inbox)])
    }

    @Test("in a request there is no composer: a accepts, d declines when y says so, and nothing counts as read")
    func deciding() {
        var device = Device()
        device.apply(.requests(1))
        device.press(.text("R"))
        device.apply(.list([request()], hasMore: false))
        device.press(.enter)
        device.apply(.info(request()))
        device.apply(.timeline(talkId(2), TimelineState(rows: [row(1, by: ben, "Hello")])))
        #expect(
            device.shows("Hello") && device.shows("ben wants to write with you") && device.shows("a accept  d decline"))
        _ = device.deeds()
        device.type("xyz")
        device.press(.enter, .text("d"), .escape, .text("d"), .text("n"))
        #expect(device.done().isEmpty && device.shows("a accept"))
        device.press(.up, .text("r"))
        #expect(device.shows("Accept the request first."))
        device.press(.escape, .text("b"), .text("a"))
        #expect(device.deeds() == [.block(ben, true), .accept, .showFolder(.inbox)])
        var accepted = request()
        accepted.conversation.request = nil
        device.apply(.info(accepted))
        #expect(!device.shows("a accept") && device.done().contains(.markRead(1)))

        device.apply(.info(request()))
        device.press(.text("d"))
        #expect(device.shows("Decline?"))
        device.press(.text("y"))
        #expect(device.deeds() == [.decline] && device.shows("Nobody is told") && !device.shows("Hello"))
    }

    @Test("a request that is taken back while it is open is left")
    func takenBack() {
        var device = Device()
        device.apply(.list([request()], hasMore: false))
        device.press(.enter)
        device.apply(.info(request()))
        device.apply(.gone(talkId(2)))
        #expect(device.shows("not there any more") && device.screen.talk == nil)
    }

    @Test("a narrow terminal shows the list or the conversation")
    func narrow() {
        var device = Device(columns: 40, [row(1)])
        #expect(device.shows("text 1") && !device.shows("Tab back"))
        device.press(.tab)
        #expect(!device.shows("text 1") && device.shows("Sunday"))
    }

    // MARK: Writing

    @Test("Enter sends, a new line is a line, and what is blank is not sent")
    func sending() {
        var device = Device([row(1)])
        device.type("  ")
        device.press(.enter)
        #expect(device.deeds().isEmpty)
        device.press(.control("u"))
        device.type("one")
        device.press(.newline)
        device.type("two")
        device.press(.enter)
        #expect(device.deeds() == [.send("one\ntwo", replyTo: nil)])
        #expect(!device.shows("> one"))
    }

    @Test("a paste is one text, without what a message should not have")
    func pasting() {
        var device = Device([row(1)])
        device.press(.text("a\r\nb\tc\u{1B}[0m\u{7}"), .enter)
        #expect(device.deeds() == [.send("a\nb c[0m", replyTo: nil)])
    }

    @Test("others learn that one types, and that one has stopped")
    func typing() {
        var device = Device([row(1)])
        device.type("hm")
        #expect(device.done() == [.typing(true), .typing(true)])
        device.now = Timestamp(milliseconds: device.now.milliseconds + 4_000)
        device.apply(.time)
        #expect(device.done().isEmpty)
        device.now = Timestamp(milliseconds: device.now.milliseconds + 1_000)
        device.apply(.time)
        #expect(device.done() == [.typing(false)])
        device.press(.backspace, .backspace)
        #expect(device.done() == [.typing(true), .typing(false)])
    }

    @Test("a reply names what it answers, until it is cancelled or sent")
    func replying() {
        var device = Device([row(1, by: ben, "nine?"), row(2, by: cleo, "ten?")])
        device.press(.up, .up, .text("r"))
        #expect(device.shows("Reply to ben: nine?"))
        device.press(.escape)
        #expect(!device.shows("Reply to"))
        device.press(.up, .text("r"))
        device.type("yes")
        device.press(.enter)
        #expect(device.deeds() == [.send("yes", replyTo: messageId(2))])
        #expect(!device.shows("Reply to"))
    }

    @Test("an edit begins with the text, comes back to the draft, and says nothing if nothing changed")
    func editing() {
        var device = Device([row(1, by: anna, "helo")])
        device.type("draft")
        device.press(.up, .text("e"))
        #expect(device.shows("✎ Edit") && device.shows("> helo"))
        device.press(.enter)
        #expect(device.deeds().isEmpty)
        #expect(device.shows("> draft"))
        device.press(.up, .text("e"), .backspace)
        device.type("lo")
        device.press(.enter)
        #expect(device.deeds() == [.edit(messageId(1), "hello")])
        #expect(device.shows("> draft"))
    }

    @Test("what may not be done says why")
    func refusals() {
        var device = Device([row(1, by: ben), row(2, by: anna)])
        device.press(.up, .up, .text("e"))
        #expect(device.text.last?.contains("Only its sender can do that.") ?? false)
        device.now = at(20)
        device.press(.down, .text("e"))
        #expect(device.text.last?.contains("15 minutes") ?? false)
        #expect(device.deeds().isEmpty)
    }

    @Test("drafts are kept when a conversation is left, and come back with what they answer")
    func drafts() {
        var device = Device([row(1)])
        device.type("half")
        device.press(.control("q"))
        #expect(device.done().suffix(3) == [.keepDraft(talkId(), Draft(text: "half")), .putDraft(talkId()), .quit])
        var other = Device([])
        other.apply(.draft(talkId(), Draft(text: "half", replyTo: messageId(1))))
        other.show([row(1, by: ben, "nine?")])
        #expect(other.shows("> half") && other.shows("Reply to ben: nine?"))
    }

    @Test("what could not be sent is in the composer again, before what was begun since, or kept where it was written")
    func givenBack() {
        var device = Device([row(1, by: ben, "nine?")])
        device.type("Ten")
        device.press(.focusOut, .control("s"))
        device.type("+2h")
        device.press(.enter)
        #expect(device.done().suffix(2) == [.schedule("Ten", at: at(121), replyTo: nil), .keepDraft(talkId(), nil)])
        device.apply(.draft(talkId(), Draft(text: "Ten", replyTo: messageId(1))))
        #expect(device.shows("> Ten") && device.shows("Reply to ben: nine?"))
        #expect(device.done() == [.keepDraft(talkId(), Draft(text: "Ten", replyTo: messageId(1)))])
        // That it was sent is shown too late.
        device.apply(.info(entry(lastSeq: 1)))
        #expect(device.shows("> Ten"))

        device.apply(.draft(talkId(), Draft(text: "Nine")))
        #expect(device.shows("> Nine") && device.shows("  Ten") && device.shows("Reply to ben: nine?"))
        device.apply(.draft(talkId(2), Draft(text: "elsewhere")))
        #expect(device.deeds() == [.addToDraft(talkId(2), Draft(text: "elsewhere"))])
        #expect(!device.shows("elsewhere"))
    }

    @Test("what could not be sent waits for the end of an edit")
    func givenBackDuringEdit() {
        var device = Device([row(1, by: anna, "nine?")])
        device.press(.up, .text("e"))
        device.apply(.draft(talkId(), Draft(text: "Ten")))
        #expect(device.done().contains(.keepDraft(talkId(), Draft(text: "Ten"))))
        #expect(device.shows("> nine?"))
        device.press(.escape)
        #expect(device.shows("> Ten"))
    }

    @Test("what another device has written comes into the composer, and nothing while the user is writing there")
    func draftsOfOthers() {
        var device = Device([row(1, by: ben, "nine?")])
        func told(_ draft: Draft?) -> ChatUpdate {
            var entry = entry(lastSeq: 1)
            entry.draft = draft
            return .info(entry)
        }
        device.apply(told(Draft(text: "from afar", replyTo: messageId(1))))
        #expect(device.shows("> from afar") && device.shows("Reply to ben: nine?"))
        device.apply(told(Draft(text: "from afar, and on")))
        #expect(device.shows("> from afar, and on") && !device.shows("Reply to"))
        device.apply(told(nil))
        #expect(!device.shows("from afar"))

        device.type("here")
        device.apply(told(Draft(text: "from afar")))
        #expect(device.shows("> here"))
        // Until it is shown that what was written is kept, what is shown is older.
        device.press(.focusOut)
        #expect(device.done().suffix(2) == [.keepDraft(talkId(), Draft(text: "here")), .putDraft(talkId())])
        device.apply(told(Draft(text: "from afar")))
        #expect(device.shows("> here"))
        device.apply(told(Draft(text: "here")))
        device.apply(told(Draft(text: "here and there")))
        #expect(device.shows("> here and there"))
        device.press(.enter)
        #expect(device.done().contains(.keepDraft(talkId(), nil)))
        device.apply(told(Draft(text: "here and there")))
        #expect(!device.shows("> here"))
    }

    @Test("a former member can read and not write")
    func formerMember() {
        var device = Device([row(1)])
        device.apply(.list([entry(lastSeq: 1, windows: [Window(from: 1, to: 1)])], hasMore: false))
        device.type("hello")
        device.press(.enter)
        #expect(device.deeds().isEmpty)
        #expect(device.shows("not in this conversation") && device.shows("> hello"))
    }

    // MARK: Messages

    @Test("tapbacks: by number, by emoji, the same again takes it away")
    func tapbacks() {
        var loved = said(1)
        loved.tapbacks = [Tapback(userId: anna, kind: .love)]
        loved.tapbackCounts = [.love: 1]
        var device = Device([TimelineRow(message: loved)])
        device.press(.up, .text("t"), .text("2"))
        device.press(.text("t"), .text("🧗"))
        device.press(.text("t"), .text("1"))
        device.press(.text("t"), .text("0"))
        #expect(
            device.deeds() == [
                .react(messageId(1), .like), .react(messageId(1), TapbackKind("🧗")), .react(messageId(1), nil),
                .react(messageId(1), nil),
            ])
        device.press(.text("t"), .text("z"))
        #expect(device.deeds().isEmpty && device.shows("one emoji"))
    }

    @Test(
        "what is written is sent at a time that is written beside it, and what waits is listed, cancelled or sent now")
    func scheduled() {
        func waiting(_ number: Int64, _ text: String, failure: ScheduledMessage.Failure? = nil) -> ScheduledMessage {
            ScheduledMessage(
                conversationId: talkId(), id: messageId(number), useq: number, at: at(60 * number), text: text,
                failure: failure)
        }
        var device = Device([row(1)])
        device.type("Nine?")
        device.press(.control("s"))
        #expect(device.deeds() == [.loadScheduled])
        #expect(device.shows("When") && device.shows("Loading…") && device.screen.frame().cursor != nil)
        device.type("soon")
        device.press(.enter)
        #expect(device.deeds().isEmpty && device.shows("Write +90m"))
        for _ in 0..<4 { device.press(.backspace) }
        device.type("+2h")
        device.press(.enter)
        #expect(device.deeds() == [.schedule("Nine?", at: at(121), replyTo: nil)])
        #expect(device.screen.focus == .composer && device.screen.talk?.editor.text == "")

        device.press(.control("s"))
        let first = waiting(2, "Nine?")
        let failed = waiting(3, "Ten?", failure: ScheduledMessage.Failure(code: .forbidden, at: at(0)))
        device.apply(.scheduled(talkId(2), [waiting(4, "elsewhere")]))
        #expect(!device.shows("elsewhere"))
        device.apply(.scheduled(talkId(), [first, failed]))
        #expect(device.shows("14:00") && device.shows("Nine?"))
        #expect(device.shows("not sent: you might not write here then"))
        device.effects = []
        device.press(.text("n"), .down, .text("x"))
        #expect(device.deeds() == [.sendScheduledNow(first), .cancelScheduled(failed.id)])
        device.apply(.scheduledChanged([talkId(2)]))
        device.apply(.scheduledChanged([talkId()]))
        #expect(device.deeds() == [.loadScheduled])
        device.apply(.scheduled(talkId(), []))
        #expect(device.shows("Nothing waits."))
        device.press(.escape)
        #expect(device.screen.focus == .composer)
    }

    @Test("a poll is made of lines, voted in by number, the same again takes it away, and closed")
    func polls() {
        var asked = said(1, "Which day?")
        asked.kind = .known(.poll)
        asked.poll = Poll(
            options: [.init(text: "Saturday", votes: 2), .init(text: "Sunday", votes: 1)], voters: 3,
            vote: Poll.Vote(userId: anna, options: [0]))
        var several = said(2, by: anna, "Which?")
        several.kind = .known(.poll)
        several.poll = Poll(
            options: [.init(text: "a", votes: 1), .init(text: "b")], multiple: true, voters: 1,
            vote: Poll.Vote(userId: anna, options: [0]))
        var device = Device([TimelineRow(message: asked), TimelineRow(message: several)])
        #expect(device.shows("● 1 Saturday · 2") && device.shows("○ 2 Sunday · 1") && device.shows("3 votes"))
        device.press(.up, .text("o"), .text("2"))
        device.press(.text("o"), .text("1"), .text("O"))
        device.press(.up, .text("o"), .text("2"), .text("o"), .text("1"), .text("o"), .text("9"))
        #expect(device.shows("Options have numbers."))
        device.press(.text("O"))
        #expect(device.shows("Only its sender can do that."))
        #expect(
            device.deeds() == [
                .vote(messageId(2), [0, 1]), .vote(messageId(2), []), .closePoll(messageId(2)),
                .vote(messageId(1), [1]),
                .vote(messageId(1), []),
            ])
        device.press(.escape)
        device.type("Where?")
        device.press(.control("v"))
        #expect(device.deeds().isEmpty && device.shows("a question, then 2 to 12 different options"))
        device.press(.newline)
        device.type("Here")
        device.press(.newline)
        device.type("There")
        device.press(.control("v"))
        #expect(device.deeds() == [.sendPoll("Where?", ["Here", "There"], multiple: false)])
    }

    @Test("a message is pinned and taken down by one key, and what is pinned is listed and gone to")
    func pins() {
        var kept = said(1)
        kept.pinned = MessagePin(seq: 3, userId: ben, at: at(0))
        var device = Device([TimelineRow(message: kept), row(2)])
        #expect(device.shows("Pinned"))
        device.press(.up)
        #expect(device.shows("P pin"))
        device.press(.text("P"), .up)
        #expect(device.shows("P take down"))
        device.press(.text("P"))
        #expect(device.deeds() == [.pinMessage(messageId(2), true), .pinMessage(messageId(1), false)])
        device.press(.control("p"))
        #expect(device.deeds() == [.loadPinned] && device.shows("Loading…"))
        device.apply(.pinned(talkId(2), [said(9, "of another conversation")]))
        #expect(!device.shows("another"))
        device.apply(.pinned(talkId(), []))
        #expect(device.shows("Nothing is pinned."))
        device.apply(.pinned(talkId(), [said(8, "the rules"), said(9, "the address")]))
        device.type("x")
        device.press(.down, .enter)
        #expect(device.deeds() == [.show(messageId(9))])
    }

    @Test(
        "f forwards to the conversation that is chosen next, F without the name; a forwarded message says from whom it is"
    )
    func forwarding() {
        var forwarded = row(2, by: anna)
        forwarded.message.forwarded = Forwarded(userId: ben, sentAt: forwarded.message.sentAt)
        for showsOrigin in [true, false] {
            var device = Device([row(1, by: ben), forwarded])
            #expect(device.shows("Forwarded from ben"))
            device.apply(.list([entry(), entry(2)], hasMore: false))
            device.press(.up, .text(showsOrigin ? "f" : "F"))
            #expect(device.deeds().isEmpty && device.shows("Choose where it goes"), "\(device.text)")
            device.press(.down, .enter)
            let expected = Forwarding(message: messageId(2), source: talkId(), showsOrigin: showsOrigin)
            #expect(device.deeds() == [.forward(expected, to: talkId(2)), .open(talkId(2))])
        }
    }

    @Test("@ goes to the next message that mentions the user, or says that there is none")
    func nextMention() {
        var device = Device([row(1, by: ben), row(2, by: anna)])
        device.press(.up, .text("@"))
        #expect(device.deeds() == [.findMention])
        device.apply(.mention(talkId(2), said(9, "of another conversation")))
        #expect(device.deeds().isEmpty)
        device.apply(.mention(talkId(), nil))
        #expect(device.shows("No unread message mentions you."))
        device.apply(.mention(talkId(), said(9, "far away")))
        #expect(device.deeds() == [.show(messageId(9))])
    }

    @Test("deleting asks for whom, and offers what is possible")
    func deleting() {
        var device = Device([row(1, by: ben), row(2, by: anna)])
        device.press(.up, .text("d"))
        #expect(device.shows("m for me  e for everyone"))
        device.press(.text("e"))
        device.press(.up, .text("d"))
        #expect(!device.shows("for everyone"))
        device.press(.text("e"))
        device.press(.text("d"), .text("m"))
        #expect(
            device.deeds() == [.delete(messageId(2), forEveryone: true), .delete(messageId(1), forEveryone: false)])
    }

    @Test("a refused message tells why and holds up the next; it can be sent again, changed or given up")
    func failures() {
        var device = Device([row(1), refused(10), unsent(11, "behind")])
        #expect(device.shows("Not sent: it is too long") && device.shows("Waiting for the one above"))
        device.press(.up, .up, .text("r"))
        device.press(.text("x"))
        #expect(device.deeds() == [.retry(messageId(10)), .discard(messageId(10))])
        device.press(.text("e"), .control("u"))
        device.type("less")
        device.press(.enter)
        #expect(device.deeds() == [.edit(messageId(10), "less")])
    }

    @Test("what the application refuses is shown with all that it says, and as nothing but text")
    func refusedByApplication() {
        let words = (1...40).map { "word\($0)" }
        let problem = Problem(.refusedByApplication, "\u{1B}[31m" + words.joined(separator: "\n"))
        let device = Device([row(1), unsent(10, "much", .failed(ProblemDetails(problem)))])
        #expect(device.shows("Not sent: [31mword1 word2") && device.shows("word40"))
        #expect(device.text.allSatisfy { !$0.contains("\u{1B}") })
    }

    @Test("the last message one sent tells how far it got")
    func receipts() {
        var device = Device([row(1, by: anna), unsent(2, "new")])
        #expect(device.shows("Sending…"))
        device.apply(.connection(.waiting))
        #expect(device.shows("Waiting for the server"))
        device.show([row(1, by: anna), row(2, by: anna)])
        device.apply(
            .receipts(
                talkId(),
                [
                    messageId(2): MessageReceipts(
                        status: .delivered, deliveredCount: 4, readCount: 3, recipientCount: 4)
                ]))
        #expect(device.shows("Read by 3"))
    }

    @Test("a selected message that vanishes takes nothing with it")
    func vanishing() {
        var device = Device([row(1), row(2)])
        device.press(.up, .text("d"))
        device.show([row(1)])
        #expect(device.screen.focus == .composer)
        device.press(.text("m"))
        #expect(device.deeds().isEmpty)
    }

    // MARK: Reading

    @Test("what is on the screen counts as read, if somebody looks at it")
    func reading() {
        var device = Device()
        device.apply(.list([entry(lastSeq: 2, readSeq: 1)], hasMore: false))
        device.press(.enter)
        device.press(.focusOut)
        device.show([row(1), row(2)])
        #expect(!device.done().contains { if case .markRead = $0 { true } else { false } })
        device.press(.focusIn)
        #expect(device.done() == [.markRead(2)])
        device.show([row(1), row(2), row(3, by: anna)])
        #expect(device.done().isEmpty)
        device.press(.control("f"))
        device.show([row(1), row(2), row(4)])
        #expect(device.done().isEmpty)
        device.press(.escape)
        #expect(device.done() == [.markRead(4)])
    }

    @Test("a conversation opens at its first unread message, under a line that stays")
    func unread() {
        var device = Device()
        device.apply(.list([entry(lastSeq: 60, unread: 21, readSeq: 39)], hasMore: false))
        device.press(.enter)
        device.show((15...64).map { row($0) }, moreBefore: true, unreadFrom: 40)
        let line = device.text.firstIndex { $0.contains("── New ──") }
        #expect(line == 6 && device.shows("text 39") && device.shows("text 40") && !device.shows("text 64"))
        #expect(device.screen.focus == .composer)
        let read: [Int64] = device.deeds().compactMap { if case .markRead(let seq) = $0 { seq } else { nil } }
        let seen = read.last ?? 0
        #expect((45...60).contains(seen) && device.shows("text \(seen)") && !device.shows("text \(seen + 1)"))
        #expect(device.shows("↓ \(64 - seen) new · End"))
        // It is read, and more comes.
        device.apply(.list([entry(lastSeq: 65, readSeq: seen)], hasMore: false))
        device.show((15...65).map { row($0) }, moreBefore: true, unreadFrom: 40)
        #expect(device.text.firstIndex { $0.contains("── New ──") } == line)
        device.press(.end)
        #expect(device.shows("text 65") && device.deeds() == [.markRead(65)])
    }

    @Test("few unread messages are shown to the end, and their sender is named under the line")
    func fewUnread() {
        var device = Device()
        device.apply(.list([entry(lastSeq: 60, unread: 2, readSeq: 58)], hasMore: false))
        device.press(.enter)
        device.show((15...60).map { row($0) }, moreBefore: true, unreadFrom: 59)
        #expect(device.screen.talk?.place == .end && device.shows("text 60"))
        let line = device.text.firstIndex { $0.contains("── New ──") }!
        #expect(device.text[line + 1].contains("ben  12:00") && device.text[line + 2].contains("text 59"))
    }

    @Test("without the server the newest are shown if the unread are not in the copy")
    func unreadAway() {
        var device = Device()
        device.apply(.list([entry(lastSeq: 600, unread: 99, readSeq: 1)], hasMore: false))
        device.press(.enter)
        device.show([], moreBefore: true, moreAfter: true)
        #expect(device.deeds() == [.open(talkId())] && device.shows("Loading…"))
        device.apply(.connection(.waiting))
        device.apply(.connection(.waiting))
        #expect(device.deeds() == [.showNewest])
        device.show((551...600).map { row($0) }, moreBefore: true)
        #expect(device.screen.talk?.place == .end)
    }

    @Test("a conversation that is named at the start is opened when it is known what is unread")
    func atStart() {
        var device = Device()
        device.screen.conversationAtStart = talkId()
        device.apply(.connection(.connecting))
        #expect(device.deeds().isEmpty)
        device.apply(.connection(.waiting))
        device.apply(.connection(.online))
        #expect(device.deeds() == [.open(talkId())])
    }

    @Test("what a search has found is shown, also where something is unread")
    func foundBesidesUnread() {
        var device = Device()
        device.apply(.list([entry(lastSeq: 60, unread: 21, readSeq: 39)], hasMore: false))
        device.effects += device.screen.open(talkId(), at: messageId(3))
        device.show((15...60).map { row($0) }, moreBefore: true, unreadFrom: 40)
        device.show((1...50).map { row($0) }, moreAfter: true)
        #expect(device.screen.talk?.selected == messageId(3) && device.shows("text 3"))
    }

    @Test("messages below the lower edge are not read; they are announced")
    func below() {
        var device = Device((1...40).map { row($0) })
        device.press(.pageUp)
        device.effects = []
        device.show((1...45).map { row($0) })
        #expect(device.done().isEmpty)
        #expect(device.shows("↓ 5 new · End"))
        let before = device.text[2]
        device.show((1...50).map { row($0) })
        #expect(device.text[2] == before)
        device.press(.end)
        #expect(device.done() == [.markRead(50)])
        #expect(device.shows("text 50"))
    }

    @Test("more is loaded before its end is reached, once")
    func loading() {
        var device = Device((50...99).map { row($0) }, moreBefore: true)
        device.press(.pageUp, .pageUp)
        #expect(device.done() == [.loadBefore])
        device.show((50...99).map { row($0) }, moreBefore: true)
        #expect(device.done().isEmpty)
        device.press(.pageUp)
        #expect(device.done() == [.loadBefore], "one who insists asks again")
        device.show((1...99).map { row($0) })
        device.press(.pageUp)
        #expect(device.done().isEmpty)
    }

    @Test("scrolling ends at the first line, with a full screen, and End comes back")
    func scrolling() {
        var device = Device((1...60).map { row($0) })
        for _ in 0..<20 { device.press(.pageUp) }
        #expect(device.text[2].contains("Today"))
        #expect(device.text[20].contains("text"))
        for _ in 0..<20 { device.press(.pageDown) }
        #expect(device.screen.talk?.place == .end)
    }

    // MARK: Search and new conversations

    @Test("a search shows what fits the words, and jumps there")
    func searching() {
        var device = Device((51...99).map { row($0) })
        device.press(.control("f"))
        device.type("su")
        #expect(device.deeds() == [.search("s"), .search("su")])
        device.apply(.found("s", [said(7, "wrong")]))
        #expect(!device.shows("wrong"))
        device.apply(.found("su", [said(8, "sunday"), said(9, "summer")]))
        device.press(.down, .enter)
        #expect(device.deeds() == [.show(messageId(9))])
        device.show((1...30).map { row($0) }, moreAfter: true)
        #expect(device.screen.talk?.selected == messageId(9))
        #expect(device.shows("text 9"))
        device.press(.end)
        #expect(device.deeds().contains(.showNewest))
    }

    @Test("a reply leads to its parent")
    func parents() {
        var reply = row(60)
        reply.parent = .init(id: messageId(2), senderId: anna, preview: "text 2")
        var device = Device((1...59).map { row($0) } + [reply])
        device.press(.up, .text("p"))
        #expect(device.screen.talk?.selected == messageId(2))
        #expect(device.shows("text 2"))
    }

    @Test(
        "a conversation is begun with names that are possible",
        arguments: [
            ("ben", "", .direct(ben)), ("ben, cleo", "", .createGroup([ben, cleo], title: nil)),
            ("ben", "Us", .createGroup([ben], title: "Us")), ("", "", nil), ("b en!", "", nil), ("anna ben", "", nil),
        ] as [(String, String, ChatEffect?)])
    func beginning(names: String, title: String, effect: ChatEffect?) {
        var device = Device([row(1)])
        device.press(.control("n"))
        device.type(names)
        device.press(.tab)
        device.type(title)
        device.press(.enter)
        #expect(device.deeds() == (effect.map { [$0] } ?? []))
        #expect(device.screen.isPanelShown == (effect == nil))
    }

    // MARK: The connection

    @Test("the banner says when the server cannot be heard, and not before it was tried")
    func offline() {
        var device = Device([row(1)])
        device.apply(.connection(.waiting))
        #expect(device.text[0].contains("Offline"))
        device.apply(.connection(.connecting))
        #expect(device.text[0].contains("Offline"))
        device.apply(.connection(.online))
        #expect(device.text[0].contains("online") && !device.text[0].contains("Offline"))
        device.apply(.connection(.superseded))
        #expect(device.text[0].contains("Another session"))
    }

    @Test("the banner says until when its user is suspended, if that ends")
    func suspension() {
        var device = Device([row(1)])
        device.apply(.connection(.suspended(until: nil)))
        #expect(device.text[0].contains("You are suspended. What"))
        device.apply(.connection(.suspended(until: Timestamp(milliseconds: 4_102_488_000_000))))
        #expect(device.text[0].contains("You are suspended until 1 January 2100, 12:00."))
    }

    @Test("a certificate that is refused is told of for as long as there is no connection")
    func distrust() {
        var device = Device(columns: 120, [row(1)])
        device.apply(.untrusted("refused the certificate of chat.example"))
        device.apply(.connection(.connecting))
        #expect(device.text[0].contains("Refused the certificate of chat.example"))
        device.apply(.connection(.waiting))
        device.press(.escape)
        #expect(device.text[0].contains("Refused the certificate of chat.example"))
        device.apply(.connection(.online))
        #expect(device.text[0].contains("online") && !device.text[0].contains("Refused"))
    }

    @Test("typing and presence are those of the open conversation")
    func people() {
        var device = Device([row(1)])
        device.apply(.members(talkId(), [anna, ben].map { Membership(userId: $0, role: .member, joinedSeq: 1) }))
        device.apply(.presence(online: [ben], lastSeen: [:]))
        device.apply(.typing(talkId(), [anna, ben]))
        #expect(device.shows("ben ●") && device.shows("ben is typing…"))
        device.apply(.typing(talkId(2), [cleo]))
        #expect(device.shows("ben is typing…") && !device.shows("cleo"))
    }
}
