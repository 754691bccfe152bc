import Models
import ParleyKit
import ParleyPresentation
import ParleyStorage
import Testing

@testable import ParleyChat

@Suite struct DetailsTests {
    /// anna's screen, at a group with ben as its only owner unless anna is one, too.
    private func group(
        _ role: MemberRole = .member, columns: Int = 80, left: Bool = false, _ permissions: Permissions? = nil,
        lifetime: MessageLifetime? = nil
    ) -> Device {
        var device = Device(columns: columns, [row(1)])
        var group = entry(lastSeq: 1, windows: [Window(from: 1, to: left ? 1 : nil)])
        group.conversation.role = .known(role)
        group.conversation.memberCount = 3
        group.conversation.permissions = permissions
        group.conversation.messageLifetime = lifetime
        device.apply(.list([group], hasMore: false))
        device.apply(
            .members(
                talkId(),
                [
                    Membership(userId: anna, role: role, joinedSeq: 1),
                    Membership(userId: ben, role: .owner, joinedSeq: 1),
                    Membership(userId: cleo, role: .member, joinedSeq: 1),
                ]))
        device.press(.control("g"))
        return device
    }

    @Test("the members are named with their roles, and who is online")
    func members() {
        var device = group()
        #expect(device.deeds() == [.watchSettingsHere])
        device.apply(.presence(online: [cleo], lastSeen: [:]))
        #expect(device.text.contains { $0.contains("anna") && $0.contains("you ") && !$0.contains("owner") })
        #expect(device.text.contains { $0.contains("ben") && $0.contains("owner") })
        #expect(device.text.contains { $0.contains("cleo") && $0.contains("● online") })
        #expect(device.shows("3 members") && device.shows("Title   Sunday"))
        device.press(.escape)
        #expect(device.screen.focus == .composer)
    }

    @Test("any member names the group and adds others")
    func naming() {
        var device = group()
        device.effects = []
        device.press(.text("e"))
        #expect(device.screen.frame().cursor != nil)
        device.type(" walk")
        device.press(.enter, .text("e"), .enter, .text("a"))
        device.type("dora, eve")
        device.press(.enter)
        #expect(device.deeds() == [.rename("Sunday walk"), .put(UserID("dora")!, nil), .put(UserID("eve")!, nil)])
    }

    @Test(
        "names that cannot be added are told, and can be mended",
        arguments: [("cleo", "cleo is a member already"), ("d!", "A name is"), ("", "Name at least one")])
    func wrongNames(names: String, problem: String) {
        var device = group()
        device.effects = []
        device.press(.text("a"))
        device.type(names)
        device.press(.enter)
        #expect(device.deeds().isEmpty && device.shows(problem))
        device.press(.control("u"))
        device.type("dora")
        device.press(.enter)
        #expect(device.deeds() == [.put(UserID("dora")!, nil)])
    }

    @Test("a title that is too long, or none, is told, and stays to be mended")
    func longTitle() {
        var device = group()
        device.effects = []
        device.press(.text("e"), .text(String(repeating: "x", count: 200)), .enter)
        #expect(device.deeds().isEmpty && device.shows("longer than 200 characters"))
        device.press(.control("u"), .text(" "), .enter)
        #expect(device.deeds().isEmpty && device.shows("cannot be taken away"))
        device.press(.text("x"), .enter)
        #expect(device.deeds() == [.rename("x")])
    }

    @Test("only owners change roles and remove; removing is asked first")
    func owners() {
        var device = group()
        device.effects = []
        device.press(.down, .text("o"))
        #expect(device.shows("Only an owner of the group can do that."))
        device.press(.text("x"))
        #expect(device.shows("Only admins of the group can do that."))
        #expect(device.deeds().isEmpty && !device.shows("Remove ben"))

        device = group(.owner)
        device.effects = []
        device.press(.down, .down, .text("o"), .up, .text("o"), .down, .text("x"))
        #expect(device.shows("Remove cleo from the group?"))
        device.press(.escape, .text("x"), .text("y"))
        #expect(device.deeds() == [.put(cleo, .owner), .put(ben, .member), .remove(cleo)])
    }

    @Test("admins remove members alone, and give no roles")
    func admins() {
        var device = group(.admin)
        device.effects = []
        device.press(.down, .text("x"))
        #expect(device.shows("Only an owner of the group can remove an owner or an admin."))
        device.press(.text("m"))
        #expect(device.shows("Only an owner of the group can do that."))
        device.press(.text("p"))
        #expect(device.shows("Only an owner of the group can do that."))
        device.press(.down, .text("x"), .text("y"))
        #expect(device.deeds() == [.remove(cleo)])
        #expect(device.text.contains { $0.contains("anna") && $0.contains("admin") })
    }

    @Test("owners make admins and take that back")
    func makingAdmins() {
        var device = group(.owner)
        device.effects = []
        device.press(.down, .down, .text("m"), .up, .text("m"))
        #expect(device.deeds() == [.put(cleo, .admin), .put(ben, .admin)])
        device.apply(.members(talkId(), [Membership(userId: cleo, role: .admin, joinedSeq: 1)]))
        device.press(.down, .text("m"))
        #expect(device.deeds() == [.put(cleo, .member)])
    }

    @Test("owners change who may do what, from one role to the next")
    func permissions() {
        var device = group(.owner, Permissions(rename: .admins, write: .owners))
        device.effects = []
        #expect(device.shows("change title: admins · write: owners"))
        device.press(.text("p"))
        #expect(device.shows("Who may do what") && device.shows("▌Add people     members"))
        #expect(device.shows("Mention all    admins"))
        device.press(.enter, .down, .enter, .down, .enter, .down, .down, .enter)
        #expect(
            device.deeds() == [
                .permit(.addMembers, .admins), .permit(.rename, .owners), .permit(.write, .members),
                .permit(.mentionAll, .owners),
            ])
        device.press(.escape)
        #expect(device.shows(" Members"))
    }

    @Test("admins go from one lifetime of messages to the next, and everybody sees it; members are refused")
    func lifetimes() {
        var device = group(.admin)
        device.effects = []
        device.press(.text("t"))
        #expect(device.deeds() == [.setLifetime(3_600)])
        device = group(.admin, lifetime: MessageLifetime(seconds: 28 * 86_400, sinceSeq: 1))
        #expect(device.shows("messages disappear after 4 weeks"))
        device.effects = []
        device.press(.text("t"))
        #expect(device.deeds() == [.setLifetime(nil)])
        device = group(.admin, lifetime: MessageLifetime(seconds: 86_400, sinceSeq: 1))
        device.effects = []
        device.press(.text("f"))
        #expect(device.deeds() == [.setLifetime(86_400, from: .reading)])
        device = group(.admin, lifetime: MessageLifetime(seconds: 86_400, from: .reading, sinceSeq: 1))
        #expect(device.shows("messages disappear 1 day after everybody has read them"))
        device.effects = []
        device.press(.text("f"), .text("t"))
        #expect(device.deeds() == [.setLifetime(86_400), .setLifetime(7 * 86_400, from: .reading)])
        device = group(.admin)
        device.effects = []
        device.press(.text("f"))
        #expect(device.deeds().isEmpty, "there is no time to count")
        device = group(.member, lifetime: MessageLifetime(seconds: 86_400, sinceSeq: 1))
        device.effects = []
        device.press(.text("t"))
        #expect(device.shows("messages disappear after 1 day") && device.deeds().isEmpty)
        #expect(device.shows("Only admins of the group can do that."))
    }

    @Test("what is not offered is refused with who may")
    func restricted() {
        var device = group(.admin, Permissions(addMembers: .owners, rename: .admins))
        device.effects = []
        device.press(.text("a"))
        #expect(device.shows("Only an owner of the group can do that."))
        device.press(.text("e"))
        #expect(device.screen.frame().cursor != nil)
        device.press(.escape)
        #expect(device.screen.frame().text.last.map { !$0.contains("a add") && $0.contains("e title") } == true)
        device = group(.member, Permissions(rename: .admins))
        device.press(.text("e"))
        #expect(device.shows("Only admins of the group can do that.") && device.screen.frame().cursor == nil)
    }

    @Test("who was removed is listed for owners and admins, and may come back")
    func bans() {
        var device = group()
        device.effects = []
        device.press(.text("u"))
        #expect(device.deeds().isEmpty && device.shows("Only admins of the group can do that."))
        device = group(.admin)
        device.effects = []
        device.press(.text("u"))
        #expect(device.deeds() == [.loadBans] && device.shows("Loading…"))
        let removed = ["dora", "eve"].map { Ban(userId: UserID($0)!, at: at(0), actorId: ben) }
        device.apply(.bans(talkId(2), []))
        #expect(device.shows("Loading…"), "of another conversation")
        device.apply(.bans(talkId(), removed))
        #expect(device.text.contains { $0.contains("▌dora") && $0.contains("by ben") })
        device.press(.down, .enter)
        #expect(device.deeds() == [.liftBan(UserID("eve")!)])
        #expect(!device.shows("▌eve") && device.shows("▌dora"))
        device.press(.enter, .enter)
        #expect(device.deeds() == [.liftBan(UserID("dora")!)] && device.shows("Nobody."))
        device.press(.escape, .text("u"))
        device.apply(.bans(talkId(), nil))
        #expect(device.shows(" Members"), "the server was not heard")
    }

    @Test("a link of an invitation is made, shown once, listed and ended by whoever may add members")
    func invitations() {
        var device = group(.member, Permissions(addMembers: .admins))
        device.effects = []
        device.press(.text("i"))
        #expect(device.deeds().isEmpty && device.shows("Only admins of the group can do that."))
        device = group(columns: 100)
        device.effects = []
        device.press(.text("i"))
        #expect(device.deeds() == [.loadInvitations] && device.shows("Loading…"))
        device.apply(.invitations(talkId(), []))
        device.press(.text("n"))
        #expect(device.deeds() == [.invite(approval: false)])
        device.press(.text("a"))
        #expect(device.deeds().isEmpty && device.shows("Only admins of the group can do that."))
        let invitation = Invitation(
            id: InvitationID(UUIDBytes(high: 1, low: 2)), code: "abc-123", creatorId: anna, createdAt: at(0),
            maxUses: 3, uses: 1)
        device.apply(.invited(talkId(), invitation))
        device.apply(.invitations(talkId(), [invitation]))
        #expect(device.shows("#invite=abc-123") && device.shows("1 of 3 joined"))
        device.press(.text("x"))
        #expect(device.deeds() == [.revoke(invitation.id)] && !device.shows("abc-123"))
        device.apply(.invitations(talkId(), nil))
        #expect(device.shows(" Members"), "the server was not heard")
    }

    @Test("who has the link of an invitation sees what it opens, and joins or not", arguments: [true, false])
    func joining(joins: Bool) {
        var device = Device([row(1)])
        device.effects = []
        device.press(.control("n"))
        device.type("https://chat.example/#invite=abc-123")
        device.press(.enter)
        #expect(device.deeds() == [.lookAtInvitation("abc-123")] && device.shows("New conversation"))
        device.apply(.invitation("other", InvitationPreview(title: "Other", memberCount: 2)))
        #expect(!device.shows("Other"))
        device.apply(.invitation("abc-123", InvitationPreview(title: "Walk", memberCount: 1)))
        #expect(device.shows("Walk") && device.shows("1 member "))
        device.press(joins ? .text("y") : .escape)
        #expect(device.deeds() == (joins ? [.join("abc-123")] : []) && !device.shows("An invitation"))
    }

    @Test("who asks to join is listed for admins, who let them in or decline")
    func joinRequests() {
        var device = group()
        device.effects = []
        device.press(.text("w"))
        #expect(device.deeds().isEmpty && device.shows("Only admins of the group can do that."))
        device = group(.admin, columns: 100)
        device.effects = []
        device.press(.text("w"))
        #expect(device.deeds() == [.loadJoinRequests] && device.shows("Loading…"))
        let requests = [UserID("dora")!, UserID("emil")!].map {
            JoinRequest(userId: $0, requestedAt: at(0), inviterId: $0.name == "dora" ? anna : nil)
        }
        device.apply(.joinRequests(talkId(), requests))
        #expect(device.shows("▌dora") && device.shows("by the link of anna"))
        device.apply(.joinRequested([talkId()]))
        #expect(device.deeds() == [.loadJoinRequests])
        device.press(.down, .text("x"))
        #expect(device.deeds() == [.declineJoinRequest(UserID("emil")!)] && !device.shows("emil"))
        device.press(.enter)
        #expect(device.deeds() == [.put(UserID("dora")!, nil)] && device.shows("Nobody."))
        device.press(.escape, .text("i"), .text("a"))
        #expect(device.deeds() == [.loadInvitations, .invite(approval: true)])
        device.press(.escape, .escape)
        device.apply(.joinRequested([talkId()]))
        #expect(device.shows("Somebody asks to join"))
    }

    @Test("where others decide, who has the link asks to join")
    func asking() {
        var device = Device([row(1)])
        device.press(.control("n"))
        device.type("#invite=abc-123")
        device.press(.enter)
        device.apply(.invitation("abc-123", InvitationPreview(title: "Walk", memberCount: 1, approval: true)))
        #expect(device.shows("Ask to join?"))
        device.press(.text("y"))
        device.apply(.asked)
        #expect(device.shows("You asked to join."))
    }

    @Test("the user's devices are listed and ended, one or all others")
    func devices() {
        var device = Device([row(1)])
        device.apply(.settings(Settings(readReceipts: true, presence: true)))
        device.effects = []
        device.press(.control("o"), .text("v"))
        #expect(device.deeds() == [.loadDevices] && device.shows("Loading…"))
        let devices = ["phone", "tablet"].map {
            Models.Device(deviceId: $0, firstSeen: at(0), lastSeen: at(0), current: $0 == "phone")
        }
        device.apply(.devices(devices))
        #expect(device.text.contains { $0.contains("▌phone") && $0.contains("this device") })
        device.press(.down, .text("x"))
        #expect(device.deeds() == [.endDevice("tablet")] && device.shows("Loading…"))
        device.apply(.devices(devices))
        device.press(.text("o"), .text("n"), .text("o"))
        #expect(device.shows("End all devices but this one?") && device.deeds().isEmpty)
        device.press(.text("y"))
        #expect(device.deeds() == [.endOtherDevices])
        device.apply(.devices(nil))
        #expect(device.shows("Read receipts"), "the server was not heard")
    }

    @Test("keys that have no room are left out whole, and the way back is not")
    func keys() {
        let device = group(.owner, columns: 80)
        let keys = device.screen.frame().text.last ?? ""
        #expect(keys.contains("a add  i invite") && keys.contains("F1 more  Esc back"))
    }

    @Test("where only others may write, the composer says so, and keeps what was written")
    func readers() {
        var device = Device([row(1), row(2, by: anna)])
        device.type("half a")
        var group = entry(lastSeq: 2)
        group.conversation.permissions = Permissions(write: .admins)
        group.draft = Draft(text: "half a")
        device.apply(.list([group], hasMore: false))
        device.apply(.info(group))
        device.effects = []
        #expect(device.shows("Only admins can write here.") && !device.shows("half a"))
        #expect(device.screen.frame().cursor == nil)
        device.press(.text("x"), .enter, .control("t"))
        #expect(device.deeds().isEmpty && device.screen.focus == .composer)
        device.press(.up, .text("r"))
        #expect(device.shows("Only admins can write here.") && device.screen.focus == .messages)
        device.press(.text("e"))
        #expect(device.screen.focus == .messages)
        device.press(.text("t"), .text("1"), .escape)
        #expect(device.deeds() == [.react(messageId(2), .love)])
        group.conversation.permissions = nil
        device.apply(.info(group))
        #expect(device.shows("> half a") && !device.shows("Only admins"))
        device.press(.enter)
        #expect(device.deeds() == [.send("half a", replyTo: nil)])
    }

    @Test(
        "a message of somebody else, and a member, are reported for a reason; what failed is sent again as the same report"
    )
    func reporting() throws {
        var device = Device([row(1), row(2, by: anna)])
        device.press(.up, .text("!"))
        #expect(device.shows("not possible with a message of your own") && device.screen.focus == .messages)
        device.press(.up, .text("!"))
        #expect(device.shows("Report a message of ben") && device.shows("▌Spam"))
        device.press(.down, .down, .up)
        device.type("he shouts!")
        device.effects = []
        device.press(.enter)
        let report = try #require(reports(device.deeds()).first)
        #expect(report.message == messageId(1) && report.user == nil)
        #expect(report.reason == .harassment && report.text == "he shouts!")
        device.apply(.notice("The server cannot be reached."))
        device.press(.enter)
        #expect(reports(device.deeds()) == [report])
        device.press(.backspace, .enter)
        let other = try #require(reports(device.deeds()).first)
        #expect(other.id != report.id && other.text == "he shouts")
        device.apply(.reported(report.id))
        #expect(device.shows("he shouts"), "that one was not answered")
        device.apply(.reported(other.id))
        #expect(device.screen.focus == .messages && device.shows("Nobody else learns of it."))

        device = group()
        device.press(.text("!"))
        #expect(!device.shows("Report anna"), "nobody reports themselves")
        device.effects = []
        device.press(.down, .text("!"), .end, .enter)
        let person = try #require(reports(device.deeds()).first)
        #expect(person.user == ben && person.message == nil && person.reason == .spam && person.text == nil)
        device.press(.escape)
        #expect(device.screen.focus == .composer)
    }

    private func reports(_ effects: [ChatEffect]) -> [NewReport] {
        effects.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }

    @Test("members can be blocked, which is shown, and settings list all who are, to end it")
    func blocking() {
        var device = group()
        device.effects = []
        device.press(.text("b"))
        #expect(device.deeds().isEmpty, "nobody blocks themselves")
        device.press(.down, .text("b"))
        device.apply(.blocked([ben, cleo]))
        #expect(device.text.contains { $0.contains("ben") && $0.contains("⊘ blocked") })
        device.press(.text("b"), .escape, .control("o"))
        device.apply(.settings(Settings(readReceipts: true, presence: true)))
        #expect(device.shows("Blocked: Enter ends it") && device.shows("cleo"))
        device.press(.down, .down, .down, .enter)
        #expect(device.deeds() == [.block(ben, true), .block(ben, false), .block(cleo, false)])
        device.apply(.blocked([]))
        #expect(device.shows("Nobody is blocked."))
        device.press(.enter)
        #expect(device.deeds().isEmpty)
    }

    @Test("very many who are blocked are shown page by page")
    func manyBlocked() {
        var device = Device()
        device.apply(.settings(Settings(readReceipts: true, presence: true)))
        device.apply(.blocked((100..<400).map { UserID("user-\($0)")! }))
        device.press(.text("s"))
        for _ in 0..<400 { device.press(.down) }
        #expect(device.shows("▌user-399"))
    }

    @Test("leaving is asked first; what was left can be taken off the list")
    func leaving() {
        var device = group()
        device.effects = []
        device.press(.text("d"))
        #expect(device.shows("Leave the group first."))
        device.press(.text("l"))
        #expect(device.shows("Leave the group?"))
        device.press(.text("n"), .text("y"))
        #expect(device.deeds().isEmpty)
        device.press(.text("l"), .text("y"))
        #expect(device.deeds() == [.leaveGroup])

        device = group(left: true)
        device.effects = []
        device.press(.text("a"))
        #expect(device.shows("not in this conversation any more"))
        device.press(.text("d"))
        #expect(device.deeds() == [.removeFromList] && device.screen.focus == .list)
    }

    @Test("nothing of a direct conversation can be changed but one's own settings in it")
    func direct() {
        var device = Device([row(1)])
        device.apply(.list([entry(lastSeq: 1, kind: .direct)], hasMore: false))
        device.press(.control("g"))
        device.effects = []
        for key in ["e", "a", "o", "x", "l", "d"] { device.press(.text(key)) }
        #expect(device.deeds().isEmpty && device.shows("not possible in a direct conversation"))
    }

    @Test("read receipts in a conversation: as in one's settings, on, off")
    func receiptsHere() {
        var device = group()
        device.effects = []
        device.press(.text("r"))
        #expect(device.deeds().isEmpty && device.shows("not known yet"))
        device.apply(.settingsHere(talkId(), SettingsInConversation(readReceipts: true, inherited: [.readReceipts])))
        #expect(device.shows("on, as in your settings"))
        device.press(.text("r"))
        device.apply(.settingsHere(talkId(), SettingsInConversation(readReceipts: true, inherited: [])))
        #expect(device.shows("on, in this conversation"))
        device.press(.text("r"))
        device.apply(.settingsHere(talkId(), SettingsInConversation(readReceipts: false, inherited: [])))
        device.press(.text("r"))
        #expect(
            device.deeds() == [.setReadReceiptsHere(true), .setReadReceiptsHere(false), .setReadReceiptsHere(nil)])
    }

    @Test("settings are changed where they are shown, when they are known")
    func settings() {
        var device = Device()
        device.press(.text("s"), .enter)
        #expect(device.deeds().isEmpty && device.shows("not known"))
        device.apply(.settings(Settings(readReceipts: true, presence: false)))
        device.press(.enter, .down, .enter, .escape)
        #expect(
            device.deeds() == [
                .set(readReceipts: false, presence: nil), .set(readReceipts: nil, presence: true),
            ])
        #expect(device.screen.focus == .list)
    }

    @Test("names stand in list, head, bubbles and details, beside the id there, and change where they are shown")
    func names() {
        var device = group()
        #expect(device.shows("ben"))
        device.apply(.names(UserNames([ben: "Ben\u{1B}[2J \u{202E}B.", anna: "Anna A."])))
        #expect(device.text.contains { $0.contains("Ben[2J B.") && $0.contains("  ben") })
        device.press(.escape)
        var direct = entry(2, title: nil, kind: .direct)
        direct.other = ben
        direct.latest = row(1)
        device.apply(.list([entry(), direct], hasMore: false))
        var reply = row(2, by: cleo)
        reply.parent = .init(id: messageId(1), senderId: ben, preview: "text 1")
        device.show([row(1), reply])
        device.apply(.typing(talkId(), [ben]))
        #expect(device.text[0].contains("Parley · Anna A."))
        #expect(device.text.contains { $0.hasPrefix(" Ben[2J B.") })
        #expect(device.shows("Ben[2J B.: text 1") && device.shows("Ben[2J B. is typing…"))
        device.apply(.names(UserNames([ben: "Benjamin"])))
        #expect(device.shows("Benjamin: text 1") && !device.shows("Ben[2J"))
        #expect(device.text[0].contains("Parley · anna"))
    }

    @Test("e in the settings writes the user's own name; nothing is done when it stays, or is given up")
    func ownName() {
        var device = Device()
        device.apply(.settings(Settings(readReceipts: true, presence: true)))
        device.apply(.names(UserNames([anna: "Anna"])))
        device.press(.text("s"), .text("e"), .enter, .text("e"), .text("x"), .escape)
        #expect(device.deeds().isEmpty)
        device.press(.text("e"), .text(" "), .text("A"))
        #expect(device.shows("Anna A") && device.screen.frame().cursor != nil)
        device.press(.enter)
        #expect(device.deeds() == [.setName("Anna A")])
        device.press(.text("e"))
        for _ in 0..<9 { device.press(.backspace) }
        device.press(.enter)
        #expect(device.deeds() == [.setName(nil)])
        device.press(.escape)
        #expect(device.screen.focus == .list)
    }

    @Test("an edited message shows what it said before, oldest first; others say that they were not edited")
    func revisions() {
        var edited = said(2, by: anna, "ten")
        edited.editedAt = at(1)
        var device = Device(rows: 12, [row(1), TimelineRow(message: edited)])
        device.press(.up, .up, .text("v"))
        #expect(device.deeds().isEmpty && device.shows("It was not edited."))
        device.press(.down, .text("v"))
        #expect(device.deeds() == [.watchRevisions(messageId(2))] && device.shows("Loading…"))
        device.apply(.revisions(messageId(1), [Revision(text: "another", at: at(0))]))
        #expect(!device.shows("another"))
        let texts = ["nine\u{202E}", "five\u{1B}[2J"] + (1...6).map { "half \($0)" } + ["ten"]
        device.apply(.revisions(messageId(2), texts.map { Revision(text: $0, at: at(0)) }))
        #expect(device.shows("nine") && device.shows("five[2J") && !device.shows("ten"))
        device.press(.end)
        #expect(device.shows("ten") && device.shows("· now") && !device.shows("nine"))
        for _ in 0..<9 { device.press(.pageUp) }
        #expect(device.shows("nine"))
        device.press(.escape)
        #expect(device.screen.focus == .messages && device.screen.talk?.selected == messageId(2))
    }

    @Test("many members are shown page by page", arguments: [24, 80])
    func manyMembers(columns: Int) {
        var device = group(columns: columns)
        let names = (100..<400).map { UserID("user-\($0)-" + String(repeating: "x", count: 50))! }
        device.apply(.members(talkId(), names.map { Membership(userId: $0, role: .member, joinedSeq: 1) }))
        for _ in 0..<40 { device.press(.pageDown) }
        #expect(device.shows("▌user-399"))
        device.apply(.members(talkId(), []))
        device.press(.down, .text("x"), .text("o"))
        #expect(device.screen.frame().lines.allSatisfy { $0.width == columns })
    }
}
