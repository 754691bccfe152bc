import Foundation
import Models
import ParleyKitTesting
import ParleyStorage
import ParleySync
import Synchronization
import Testing

@testable import ParleyKit

/// What an application sees, with a server in memory.
@Suite struct FaceTests {
    @Test("the list and a timeline come from an empty copy, whose holes fill themselves")
    func loadsWhatIsLookedAt() async throws {
        let world = try FaceWorld()
        for number in 1...40 { world.write("text \(number)", UInt64(number)) }
        let parley = try await world.connected()
        let list = await first(parley.conversations()) { $0.rows.first?.preview?.message.text == "text 40" }
        #expect(list?.rows.map(\.id) == [world.group])
        #expect(list?.rows.first?.conversation.unreadCount == 40)
        let page = await first(parley.conversation(world.group).timeline(.newest(30))) {
            $0.texts.count == 30 && !$0.isLoading
        }
        #expect(page?.texts == (11...40).map { "text \($0)" })
        #expect(page?.hasMoreBefore == true)
        await parley.close()
    }

    @Test("a message shows at once, is sent when the server can be reached, and its echo is the same row")
    func sendsWhenItCan() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        await parley.disconnect()
        let id = try await talk.send("hello")
        let sending = await first(talk.timeline()) { !$0.rows.isEmpty }
        #expect(sending?.rows.last?.state == .sending)
        #expect(world.texts.isEmpty)
        let seen = Mutex<[ListDifference<MessageID>]>([])
        await parley.connect()
        let stored = await first(talk.timeline()) { update in
            seen.withLock { $0.append(update.difference) }
            return update.rows.last?.state == .stored
        }
        #expect(stored?.rows.map(\.id) == [id])
        // The first difference is the whole state; after it the row is updated, never taken out and put in.
        for difference in seen.withLock({ $0 }).dropFirst() {
            #expect(difference.inserted.isEmpty && difference.removed.isEmpty && difference.moved.isEmpty)
        }
        #expect(world.texts == ["hello"])
        await parley.close()
    }

    @Test("what is written while away arrives in order, once, although responses are lost")
    func sendsOnceAndInOrder() async throws {
        let world = try FaceWorld()
        let parley = try await world.open()
        let talk = parley.conversation(world.group)
        for number in 1...60 { try await talk.send("\(number)") }
        world.network.loseResponses(3)
        await parley.connect()
        let done = await first(talk.timeline(.newest(100))) { $0.rows.count == 60 && $0.areAllStored }
        #expect(done?.texts == (1...60).map { "\($0)" })
        #expect(world.texts == (1...60).map { "\($0)" })
        await parley.close()
    }

    @Test("a refused edit shows, is undone, and is told once with its reason")
    func tellsOfRefusals() async throws {
        let world = try FaceWorld()
        world.write("ben's", 1)
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        _ = await first(talk.timeline()) { $0.texts == ["ben's"] }
        await parley.disconnect()
        try await talk.edit(messageId(1), text: "anna's")
        let shown = await first(talk.timeline()) { $0.texts == ["anna's"] }
        #expect(shown != nil)
        await parley.connect()
        let refused = await first(parley.refusedWrites) { _ in true }
        #expect(refused?.action == .edit && refused?.message == messageId(1))
        #expect(await first(parley.pendingWrites) { $0 == 0 } != nil)
        #expect(refused?.problem.code == .known(.forbidden))
        let undone = await first(talk.timeline()) { $0.texts == ["ben's"] }
        #expect(undone != nil)
        await parley.close()
        let again = try await world.open()
        let left = try LocalStore(path: world.folder.file("anna.db"))
        #expect(try left.outbox().isEmpty)
        await again.close()
    }

    @Test("a refused message holds back the later ones until it is retried, edited or discarded")
    func failsVisibly() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        _ = await first(talk.info) { $0 != nil }
        let unknown = messageId(99)
        let reply = try await talk.send("to nothing", replyTo: unknown)
        try await talk.send("later")
        let failed = await first(talk.timeline()) { update in
            update.rows.contains { if case .failed = $0.state { $0.id == reply } else { false } }
        }
        #expect(failed?.rows.last?.state == .sending)
        let list = await first(parley.conversations()) { $0.rows.first?.hasFailedMessage ?? false }
        #expect(list?.rows.first?.preview?.message.text == "later")
        #expect(world.texts.isEmpty)
        try await talk.discard(reply)
        let done = await first(talk.timeline()) { $0.texts == ["later"] && $0.areAllStored }
        #expect(done != nil)
        #expect(world.texts == ["later"])
        await parley.close()
    }

    @Test("edits, tapbacks and deletions reach the other device")
    func changesMessages() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let other = try await world.connected(ben)
        let talk = parley.conversation(world.group)
        let seen = other.conversation(world.group).timeline()
        let id = try await talk.send("one")
        #expect(await first(seen) { $0.texts == ["one"] } != nil)
        try await talk.edit(id, text: "two")
        #expect(await first(seen) { $0.texts == ["two"] } != nil)
        try await other.conversation(world.group).react(id, .love)
        #expect(await first(talk.timeline()) { $0.rows.last?.message.tapbackCounts == [.love: 1] } != nil)
        try await other.conversation(world.group).react(id, nil)
        #expect(await first(talk.timeline()) { $0.rows.last?.message.tapbackCounts == [:] } != nil)
        try await talk.delete(id, .everyone)
        #expect(await first(seen) { $0.rows.last?.message.deletedForEveryone ?? false } != nil)
        try await talk.delete(id, .forMe)
        #expect(await first(talk.timeline()) { $0.rows.isEmpty } != nil)
        await parley.close()
        await other.close()
    }

    @Test("a timeline extends both ways, jumps, and holds no more than its bound")
    func scrolls() async throws {
        let world = try FaceWorld()
        for number in 1...500 { world.write("\(number)", UInt64(number)) }
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let timeline = talk.timeline(.newest(10))
        var iterator = timeline.makeAsyncIterator()
        var oldest: [Int] = []
        // Position 1 is the conversation's creation: text N is at N + 1.
        while let update = await iterator.next() {
            #expect(update.rows.count <= TimelineWindow.mostRows)
            let texts = update.texts.compactMap { $0.flatMap { Int($0) } }
            #expect(texts == texts.indices.map { (texts.first ?? 0) + $0 }, "no hole within")
            oldest.append(texts.first ?? 0)
            if texts.first == 1, !update.isLoading { break }
            if !update.isLoading { timeline.extendBackward(by: 40) }
        }
        #expect(oldest.last == 1)
        timeline.extendForward(by: 90)
        while let update = await iterator.next(), update.hasMoreAfter || update.isLoading {
            timeline.extendForward(by: 90)
        }
        timeline.jump(to: messageId(250))
        let jumped = await first(timeline) {
            $0.rows.contains { $0.id == messageId(250) } && !$0.isLoading && $0.hasMoreAfter
        }
        #expect(jumped?.texts.contains("250") ?? false)
        // At the end it follows what comes.
        timeline.jumpToNewest(20)
        world.write("501", 501)
        let newest = await first(timeline) { $0.texts.last == "501" }
        #expect(newest?.hasMoreAfter == false)
        await parley.close()
    }

    @Test("a timeline begins at the first unread message, and says which it is")
    func beginsUnread() async throws {
        let world = try FaceWorld()
        for number in 1...100 { world.write("\(number)", UInt64(number)) }
        world.carryOut(.read(seq: 31), by: anna)
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        #expect(await first(talk.info) { $0?.conversation.unreadCount == 70 } != nil)
        let update = await first(talk.timeline(.unread)) { !$0.isLoading && $0.firstUnread != nil }
        #expect(update?.firstUnread == messageId(31))
        #expect(update?.texts.contains("30") ?? false && update?.texts.contains("31") ?? false)
        #expect(await first(parley.unread) { $0 == UnreadTotal(messages: 70, conversations: 1) } != nil)
        try await talk.markRead(upTo: 101)
        #expect(await first(parley.unread) { $0 == UnreadTotal(messages: 0, conversations: 0) } != nil)
        await parley.close()
    }

    @Test(
        "what is muted for a time counts again when that has passed, and comes back from the archive, without a server")
    func muteEnds() async throws {
        let world = try FaceWorld()
        for number in 1...3 { world.write("\(number)", UInt64(number)) }
        let clock = FastClock()
        let parley = try await world.open(clock: clock)
        await parley.connect()
        let unread = UnreadTotal(messages: 3, conversations: 1)
        #expect(await first(parley.unread) { $0 == unread } != nil)
        await parley.disconnect()
        let talk = parley.conversation(world.group)
        var badge = parley.unread.makeAsyncIterator()
        var inbox = parley.conversations().makeAsyncIterator()
        #expect(await badge.next() == unread)
        #expect(await inbox.next()?.rows.count == 1)
        try await talk.mute(until: Timestamp(milliseconds: clock.timestamp.milliseconds + 20_000))
        #expect(await badge.next() == UnreadTotal(messages: 0, conversations: 0))
        #expect(await badge.next() == unread)
        await parley.close()
    }

    @Test("receipts are a stream of their own: many make few updates, and none of the timeline")
    func gathersReceipts() async throws {
        let world = try FaceWorld()
        let parley = try await world.open(clock: SystemClock())
        await parley.connect()
        await world.online(parley)
        let talk = parley.conversation(world.group)
        for number in 1...20 { try await talk.send("\(number)") }
        _ = await first(talk.timeline()) { $0.rows.count == 20 && $0.areAllStored }
        _ = await first(talk.members) { $0.isComplete }
        let receipts = Mutex(0)
        let timelines = Mutex(0)
        let counting = [
            Task { for await _ in talk.receipts { receipts.withLock { $0 += 1 } } },
            Task { for await _ in talk.timeline() { timelines.withLock { $0 += 1 } } },
        ]
        #expect(await soon { receipts.withLock { $0 } > 0 && timelines.withLock { $0 } > 0 })
        try await Task.sleep(for: .milliseconds(300))
        let (before, shown) = (receipts.withLock { $0 }, timelines.withLock { $0 })
        let clock = ContinuousClock()
        let began = clock.now
        for seq in 2...21 {
            world.network.withServer { [group = world.group] in $0.delivered(Int64(seq), in: group, by: ben) }
            try await Task.sleep(for: .milliseconds(10))
        }
        let last = await first(talk.receipts) {
            $0.messages.values.allSatisfy { $0.status == .delivered } && !$0.messages.isEmpty
        }
        #expect(last?.messages.count == 20)
        try await Task.sleep(for: .milliseconds(150))
        let updates = receipts.withLock { $0 } - before
        let tenths = Int((clock.now - began) / .milliseconds(100))
        #expect(updates >= 1 && updates <= tenths + 1)
        #expect(timelines.withLock { $0 } == shown)
        for task in counting { task.cancel() }
        await parley.close()
    }

    @Test("typing is passed on, and ends when nothing more is heard")
    func showsTyping() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let other = try await world.connected(ben)
        await other.conversation(world.group).setTyping(true)
        #expect(await first(parley.conversation(world.group).typing) { $0 == [ben] } != nil)
        #expect(await first(parley.conversation(world.group).typing) { $0 == [] } != nil)
        await parley.close()
        await other.close()
    }

    @Test("presence is known while the server can be heard, and no longer")
    func showsPresence() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        world.network.push(.presence(.init(userId: ben, online: true)), to: anna)
        #expect(await first(parley.presence) { $0[ben]?.isOnline ?? false } != nil)
        world.network.isReachable = false
        #expect(await first(parley.presence) { $0.isEmpty } != nil)
        #expect(await first(parley.connection) { $0 == .waiting } != nil)
        world.network.isReachable = true
        #expect(await first(parley.connection) { $0 == .online } != nil)
        await parley.close()
    }

    @Test("a group can be written to before the server knows it")
    func createsGroups() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        await parley.disconnect()
        let talk = try await parley.createGroup(with: [ben], title: "Climbing")
        try await talk.send("hello")
        let list = await first(parley.conversations()) { $0.rows.first?.id == talk.id }
        #expect(list?.rows.first?.isBeingCreated == true)
        #expect(list?.rows.first?.conversation.title == "Climbing")
        #expect(await first(talk.members) { $0.members.map(\.userId) == [anna, ben] } != nil)
        await parley.connect()
        let created = await first(parley.conversations()) {
            $0.rows.first { $0.id == talk.id }?.isBeingCreated == false
        }
        #expect(created != nil)
        #expect(await first(talk.timeline()) { $0.texts == ["hello"] && $0.areAllStored } != nil)
        await parley.close()
    }

    @Test("the conversation of two is the server's to name, and has the other one's name in the list")
    func findsDirectConversations() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = try await parley.direct(with: ben)
        #expect(
            await first(parley.conversations()) { $0.rows.contains { $0.id == talk.id && $0.counterpart == ben } }
                != nil)
        world.network.isReachable = false
        #expect(try await parley.direct(with: ben).id == talk.id)
        await #expect(throws: ParleyError.unreachable) { _ = try await parley.direct(with: UserID("carol")!) }
        await parley.close()
    }

    @Test("a search shows what the copy has, then what the server finds, and a timeline begins there")
    func searches() async throws {
        let world = try FaceWorld()
        for number in 1...60 {
            world.write(number == 5 ? "needle old" : number == 60 ? "needle new" : "hay", UInt64(number))
        }
        let parley = try await world.connected()
        _ = await first(parley.conversation(world.group).timeline(.newest(6))) { $0.rows.count == 6 && !$0.isLoading }
        var updates: [SearchUpdate] = []
        for await update in parley.search("needle") { updates.append(update) }
        #expect(updates.map(\.progress) == [.local, .complete])
        #expect(updates.first?.hits.map(\.message.text) == ["needle new"])
        #expect(updates.last?.hits.map(\.message.text) == ["needle new", "needle old"])
        let found = try #require(updates.last?.hits.last)
        let around = await first(parley.conversation(world.group).timeline(.around(found.id))) { !$0.isLoading }
        #expect(around?.rows.contains { $0.id == found.id } ?? false)
        world.network.isReachable = false
        var offline: [SearchUpdate.Progress] = []
        for await update in parley.search("needle") { offline.append(update.progress) }
        #expect(offline == [.local, .serverUnreachable])
        await parley.close()
    }

    @Test("drafts and what waits survive the end of the process; signing out leaves nothing")
    func survives() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        _ = await first(parley.conversation(world.group).info) { $0 != nil }
        await parley.disconnect()
        try await parley.conversation(world.group).send("unsent")
        try await parley.conversation(world.group).setDraft(Draft(text: "half", replyTo: messageId(3)))
        await parley.close()
        await #expect(throws: ParleyError.closed) { try await parley.conversation(world.group).send("too late") }
        let again = try await world.open()
        let talk = again.conversation(world.group)
        #expect(await talk.draft == Draft(text: "half", replyTo: messageId(3)))
        #expect(await first(again.conversations()) { $0.rows.first?.draft?.text == "half" } != nil)
        await again.connect()
        #expect(await first(talk.timeline()) { $0.texts == ["unsent"] && $0.areAllStored } != nil)
        try await again.signOut()
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.path).isEmpty)
    }

    @Test("what is written on one device is in the list and the conversation on the other, until it is sent")
    func draftsOnTwoDevices() async throws {
        let world = try FaceWorld()
        let phone = try await world.connected(file: "phone.db")
        let desk = try await world.connected(file: "desk.db")
        let (here, there) = (phone.conversation(world.group), desk.conversation(world.group))
        for talk in [here, there] { _ = await first(talk.info) { $0 != nil } }
        let half = Draft(text: "half a", replyTo: messageId(3))
        try await here.setDraft(Draft(text: "half"))
        try await here.setDraft(half)
        #expect(await first(there.info) { $0?.draft == half } != nil, "when the user pauses")
        #expect(await first(desk.conversations()) { $0.rows.first?.draft == half } != nil)
        try await there.setDraft(Draft(text: "half a thought"))
        await there.putDraft()
        #expect(await first(here.info) { $0?.draft?.text == "half a thought" } != nil)
        try await there.send("half a thought")
        try await there.setDraft(nil)
        #expect(await first(here.info) { $0?.draft == nil && $0?.preview?.message.text == "half a thought" } != nil)
        let isGone = await soon { world.network.withServer { $0.draft(in: world.group, of: anna) } == nil }
        #expect(isGone)
        for parley in [phone, desk] { await parley.close() }
    }

    @Test("what is written without a connection is put in the background, once")
    func draftsInTheBackground() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        _ = await first(parley.conversation(world.group).info) { $0 != nil }
        await parley.disconnect()
        try await parley.conversation(world.group).setDraft(Draft(text: "half"))
        await parley.catchUp()
        #expect(world.network.withServer { $0.draft(in: world.group, of: anna)?.text } == "half")
        #expect(world.network.takeCalls().count { $0 == "draft" } == 1)
        await parley.close()
    }

    @Test("two processes use one database: what one writes the other shows and sends")
    func sharesDatabase() async throws {
        let world = try FaceWorld()
        let application = try await world.connected()
        _ = await first(application.conversation(world.group).info) { $0 != nil }
        let helper = try await world.open()
        try await helper.conversation(world.group).send("from the notification")
        await application.databaseChanged()
        let shown = await first(application.conversation(world.group).timeline()) {
            $0.texts == ["from the notification"] && $0.areAllStored
        }
        #expect(shown != nil)
        #expect(world.texts == ["from the notification"])
        await helper.close()
        await application.close()
    }

    @Test("a copy is brought up to date in the background, without a session")
    func catchesUp() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        _ = await first(parley.conversation(world.group).info) { $0 != nil }
        await parley.disconnect()
        world.write("meanwhile", 1)
        try await parley.conversation(world.group).send("waited")
        await parley.catchUp()
        #expect(await first(parley.conversations()) { $0.rows.first?.conversation.lastSeq ?? 0 >= 2 } != nil)
        #expect(await soon { world.texts == ["meanwhile", "waited"] })
        #expect(await first(parley.connection) { _ in true } == .off)
        await parley.close()
    }

    @Test("a slow loop gets the latest state, not every one")
    func dropsStates() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let timeline = parley.conversation(world.group).timeline()
        _ = await first(timeline) { !$0.isLoading }
        var iterator = timeline.makeAsyncIterator()
        _ = await iterator.next()
        for number in 1...30 { world.write("\(number)", UInt64(number)) }
        #expect(await first(parley.conversation(world.group).timeline()) { $0.texts.last == "30" } != nil)
        let next = await iterator.next()
        #expect(next?.texts.count == 30)
        #expect(next?.difference.inserted.count == 30)
        await parley.close()
    }

    @Test("settings show at once and are the server's afterwards")
    func changesSettings() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        #expect(await first(parley.settings) { $0?.presence == true } != nil)
        try await parley.set(presence: false)
        #expect(await first(parley.settings) { $0?.presence == false && $0?.readReceipts == true } != nil)
        #expect(await first(parley.conversation(world.group).settings) { $0?.readReceipts == true } != nil)
        await parley.disconnect()
        try await parley.conversation(world.group).set(readReceipts: false)
        #expect(await first(parley.conversation(world.group).settings) { $0?.readReceipts == false } != nil)
        await parley.close()
    }

    @Test("a block in a tunnel holds at once, reaches the server and the other device, and ends there as well")
    func blocks() async throws {
        let world = try FaceWorld()
        for number in 1...3 { world.write("\(number)", UInt64(number)) }
        let (phone, tablet) = (try await world.connected(file: "phone"), try await world.connected(file: "tablet"))
        let timeline = phone.conversation(world.group).timeline()
        #expect(await first(timeline) { $0.texts == ["1", "2", "3"] } != nil)
        world.network.isReachable = false
        try await phone.block(ben)
        #expect(await first(phone.blockedUsers) { $0 == [ben] } != nil)
        #expect(await first(timeline) { $0.texts.isEmpty } != nil)
        #expect(await first(phone.unread) { $0.messages == 0 } != nil)
        world.network.isReachable = true
        #expect(await first(tablet.blockedUsers) { $0 == [ben] } != nil)
        #expect(world.network.withServer { $0.blocked(by: anna) } == [ben])
        try await tablet.unblock(ben)
        #expect(await first(timeline) { $0.texts == ["1", "2", "3"] } != nil)
        #expect(await first(phone.blockedUsers) { $0.isEmpty } != nil)
        await phone.close()
        await tablet.close()
    }

    @Test(
        "of a blocked user neither typing nor presence nor what the server finds is shown, and nobody blocks themselves"
    )
    func hidesBlocked() async throws {
        let world = try FaceWorld()
        world.write("needle", 1)
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        _ = await first(talk.info) { $0 != nil }
        let presence = FrameFromServer.presence(.init(userId: ben, online: true))
        let typing = FrameFromServer.typing(.init(conversationId: world.group, userId: ben, active: true))
        world.network.push(presence, to: anna)
        #expect(await first(parley.presence) { $0[ben] != nil } != nil)
        // Again and again, as somebody types who is not blocked yet: by this clock it is over after 120 ms.
        let pushing = Task { [network = world.network] in
            while !Task.isCancelled {
                network.push(typing, to: anna)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        defer { pushing.cancel() }
        #expect(await first(talk.typing) { $0 == [ben] } != nil)
        try await parley.block(ben)
        #expect(await first(parley.presence) { _ in true } == [:])
        #expect(await first(talk.typing) { _ in true } == [])
        #expect(await first(parley.search("needle")) { $0.progress == .complete }?.hits.isEmpty == true)
        await #expect(throws: ParleyError.self) { try await parley.block(anna) }
        #expect(await first(parley.blockedUsers) { _ in true } == [ben])
        await parley.close()
    }

    @Test("where the last messages are hidden, the list shows the one before, which is loaded for it")
    func previewBeforeHidden() async throws {
        let world = try FaceWorld()
        world.carryOut(send("mine"), by: anna, 1)
        for number in 2...4 { world.write("\(number)", UInt64(number)) }
        let parley = try await world.open()
        try await parley.block(ben)
        await parley.connect()
        let update = await first(parley.conversations()) { $0.rows.first?.preview?.message.text == "mine" }
        #expect(update?.rows.first?.conversation.unreadCount == 0)
        await parley.close()
    }

    @Test("what a stranger asks is read while it is shown, and accepted in a tunnel; the other device has it, too")
    func acceptsRequests() async throws {
        let (world, pair) = try asking()
        let phone = try await world.connected(file: "phone.db")
        let tablet = try await world.connected(file: "tablet.db")
        let talk = phone.conversation(pair)
        for parley in [phone, tablet] {
            let requests = await first(parley.requests) { $0.count == 1 }
            #expect(requests?.first?.userId == carla && requests?.first?.row.preview?.message.text == "Hello")
            #expect(await first(parley.requestCount) { _ in true } == 1)
            #expect(await first(parley.conversations()) { !$0.rows.isEmpty }?.rows.map(\.id) == [world.group])
        }
        // No session tells of what comes: it is read again, and so is the list.
        let (timeline, requests) = (talk.timeline(), tablet.requests)
        let grows = Task { await first(timeline) { $0.texts == ["Hello", "Are you there?"] } }
        let moves = Task { await first(requests) { $0.first?.row.preview?.message.text == "Are you there?" } }
        #expect(await first(timeline) { $0.texts == ["Hello"] && !$0.isLoading } != nil)
        #expect(await first(requests) { $0.first?.row.preview?.message.text == "Hello" } != nil)
        ask("Are you there?", pair, world, 2)
        #expect(await grows.value != nil)
        #expect(await moves.value != nil)
        try await talk.markRead(upTo: 3)
        #expect(await first(phone.pendingWrites) { _ in true } == 0)
        #expect(world.network.takeCalls().allSatisfy { $0 != "read" })

        world.network.isReachable = false
        try await talk.accept()
        #expect(await first(phone.conversations()) { $0.rows.contains { $0.id == pair } } != nil)
        #expect(await first(phone.requestCount) { $0 == 0 } != nil)
        world.network.isReachable = true
        await phone.connect()
        await tablet.connect()
        #expect(
            await first(tablet.conversations()) { $0.rows.contains { $0.id == pair && $0.conversation.isMember } }
                != nil)
        #expect(await first(tablet.requestCount) { $0 == 0 } != nil)
        ask("At last", pair, world, 3)
        for parley in [phone, tablet] {
            let all = await first(parley.conversation(pair).timeline()) {
                $0.texts == ["Hello", "Are you there?", "At last"] && !$0.isLoading
            }
            #expect(all != nil)
            await parley.close()
        }
    }

    @Test(
        "a message of a tunnel has failed where the group was closed meanwhile; who was removed is listed, and allowed back"
    )
    func permissions() async throws {
        let world = try FaceWorld()
        let (owner, member) = (try await world.connected(ben), try await world.connected())
        let (his, talk) = (owner.conversation(world.group), member.conversation(world.group))
        #expect(await first(talk.info) { $0?.conversation.mayWrite == true } != nil)
        world.network.isReachable = false
        let message = try await talk.send("In a tunnel")
        world.carryOut(.permissions(.init(.write, .admins)), by: ben, 3)
        world.network.isReachable = true
        await member.connect()
        await owner.connect()
        #expect(await first(talk.info) { $0?.conversation.mayWrite == false && $0?.hasFailedMessage == true } != nil)
        try await his.permit(.write, to: .members)
        #expect(await first(talk.info) { $0?.conversation.mayWrite == true } != nil)
        try await talk.retry(message)
        #expect(
            await first(talk.timeline()) { $0.rows.contains { $0.id == message && $0.state == .stored } } != nil)
        try await his.remove(anna)
        #expect(await first(his.info) { $0?.conversation.memberCount == 1 } != nil)
        #expect(try await his.bans().map(\.userId) == [anna])
        try await his.liftBan(of: anna)
        #expect(await first(owner.pendingWrites) { $0 == 0 } != nil)
        #expect(try await his.bans().isEmpty)
        await owner.close()
        await member.close()
    }

    @Test("messages disappear from a device whose connection is gone, and not from one whose conversation keeps them")
    func lifetimes() async throws {
        let world = try FaceWorld()
        let clock = FastClock()
        let member = try await world.open(clock: clock)
        let begun = clock.now
        await member.connect()
        let owner = try await world.connected(ben)
        let (his, talk) = (owner.conversation(world.group), member.conversation(world.group))
        let kept = try await talk.send("This stays")
        #expect(await first(member.pendingWrites) { $0 == 0 } != nil)
        // The server's clock is 50 million seconds behind those of the devices, which know that from it. It stands still, so
        // that a message has its time from the moment on at which the session began.
        let seconds = 300
        try await his.setMessageLifetime(seconds: seconds)
        #expect(await first(talk.info) { $0?.conversation.messageLifetime?.seconds == seconds } != nil)
        let gone = try await talk.send("This goes")
        #expect(await first(member.pendingWrites) { $0 == 0 } != nil)
        #expect(await first(talk.timeline()) { $0.rows.contains { $0.id == gone && $0.state == .stored } } != nil)
        world.network.isReachable = false
        let rows = await first(talk.timeline()) { view in
            view.rows.contains { $0.id == kept } && !view.rows.contains { $0.id == gone }
        }
        #expect(rows != nil)
        #expect(clock.now - begun > .seconds(seconds - 1), "by the server's clock")
        let isThere = world.network.withServer { server in
            server.messages(of: world.group, for: ben).contains { $0.id == gone && $0.text == "This goes" }
        }
        #expect(isThere, "the server has not said so")
        await owner.close()
        await member.close()
    }

    @Test(
        "whoever has the code of an invitation sees what it opens, joins by it, and writes; one that is revoked opens nothing"
    )
    func invitations() async throws {
        let world = try FaceWorld()
        let (member, outsider) = (try await world.connected(), try await world.connected(carla))
        let talk = member.conversation(world.group)
        #expect(await first(talk.info) { $0 != nil } != nil)
        let invitation = try await talk.invite(uses: 2)
        let code = try #require(invitation.code)
        #expect(try await outsider.invitation(code).memberCount == 2)
        #expect(try await talk.invitations().map(\.id) == [invitation.id])
        guard case .joined(let joined) = try await outsider.join(by: code),
            case .joined(let again) = try await outsider.join(by: code)
        else {
            Issue.record("whoever has the code joins")
            return
        }
        #expect(joined.id == world.group && again.id == world.group, "again, and it is used once")
        #expect(try await talk.invitations().map(\.uses) == [1])
        #expect(await first(joined.info) { $0?.conversation.memberCount == 3 } != nil)
        let message = try await joined.send("Thank you")
        #expect(await first(talk.timeline()) { $0.rows.contains { $0.id == message } } != nil)
        try await talk.revoke(invitation.id)
        #expect(try await talk.invitations().isEmpty)
        await #expect(throws: ParleyError.self) { try await outsider.invitation(code) }
        await member.close()
        await outsider.close()
    }

    @Test(
        "by an invitation of which others decide one asks, its maker is told, and whoever is let in has the group; declined, it looks the same"
    )
    func joinRequests() async throws {
        let world = try FaceWorld()
        let (owner, outsider) = (try await world.connected(ben), try await world.connected(carla))
        let talk = owner.conversation(world.group)
        #expect(await first(talk.info) { $0 != nil } != nil)
        let told = begun(owner.joinRequested)
        let invitation = try await talk.invite(approval: true)
        let code = try #require(invitation.code)
        #expect(try await outsider.invitation(code).approval == true)
        guard case .asked(let id, let since) = try await outsider.join(by: code) else {
            Issue.record("others decide")
            return
        }
        #expect(id == world.group)
        #expect(await first(told) { $0 == [world.group] } != nil)
        let expected = JoinRequest(userId: carla, requestedAt: since, inviterId: ben)
        #expect(try await talk.joinRequests() == [expected])
        try await talk.declineJoinRequest(of: carla)
        #expect(try await talk.joinRequests().isEmpty)
        guard case .asked(_, let again) = try await outsider.join(by: code) else {
            Issue.record("it goes on")
            return
        }
        #expect(again == since, "it looks the same")
        try await outsider.withdrawRequest(toJoin: id)
        guard case .asked = try await outsider.join(by: code) else {
            Issue.record("others decide")
            return
        }
        #expect(try await talk.joinRequests().map(\.userId) == [carla])
        try await talk.add(carla)
        #expect(await first(outsider.conversation(id).info) { $0?.conversation.memberCount == 3 } != nil)
        #expect(try await talk.joinRequests().isEmpty)
        await #expect(throws: ParleyError.self) { try await outsider.conversation(id).invite(approval: true) }
        await owner.close()
        await outsider.close()
    }

    @Test("a message is forwarded to another conversation, with the name of who wrote it or without")
    func forwarding() async throws {
        let world = try FaceWorld()
        let (writer, reader) = (try await world.connected(ben), try await world.connected(anna))
        let sent = try await writer.conversation(world.group).send("Nine?")
        let source = reader.conversation(world.group)
        #expect(await first(source.timeline()) { page in page.rows.contains { $0.id == sent } } != nil)
        let other = try await reader.createGroup(with: [carla], title: "Other")
        for showsOrigin in [true, false] {
            let id = try await source.forward(sent, to: other.id, showingOrigin: showsOrigin)
            let page = await first(other.timeline()) { page in
                page.rows.contains { $0.id == id && $0.state == .stored }
            }
            let message = page?.rows.first { $0.id == id }?.message
            #expect(message?.text == "Nine?" && message?.senderId == anna)
            #expect(message?.forwarded?.userId == (showsOrigin ? ben : nil))
        }
        await writer.close()
        await reader.close()
    }

    @Test("the next message that mentions the user is found behind what they have read, over pages that have none")
    func mentions() async throws {
        let world = try FaceWorld()
        let (writer, reader) = (try await world.connected(ben), try await world.connected(anna))
        let talk = writer.conversation(world.group)
        var sent: [MessageID] = []
        for mentions in [[anna], [carla], [carla], [anna], []] {
            sent.append(try await talk.send("one", mentions: mentions))
        }
        let read = reader.conversation(world.group)
        let all = sent
        let timeline = await first(read.timeline()) { page in
            all.allSatisfy { id in page.rows.contains { $0.id == id } }
        }
        let seqs = try #require(timeline).rows.filter { sent.contains($0.id) }.map(\.message.seq)
        let unread = UnreadTotal(messages: 5, mentions: 2, conversations: 1)
        #expect(await first(reader.unread) { $0 == unread } != nil)
        #expect(try await read.nextMention(after: 0)?.id == sent[0])
        #expect(try await read.nextMention(after: seqs[0])?.id == sent[3])
        #expect(try await read.nextMention(after: seqs[3]) == nil)
        try await read.markRead(upTo: seqs[1])
        #expect(try await read.nextMention()?.id == sent[3])
        await writer.close()
        await reader.close()
    }

    @Test(
        "what is scheduled is on all devices of its user, is changed and cancelled, and becomes a message like any other"
    )
    func scheduled() async throws {
        let world = try FaceWorld()
        let (desk, phone) = (try await world.connected(), try await world.connected())
        let (talk, there) = (desk.conversation(world.group), phone.conversation(world.group))
        #expect(await first(talk.info) { $0 != nil } != nil)
        let told = begun(phone.scheduledChanged)
        let later = Timestamp(milliseconds: 4_000_000_000_000)
        let id = try await talk.schedule("One", at: later, mentions: [ben], extra: ["a": .integer(1)])
        #expect(await first(told) { $0 == [world.group] } != nil)
        #expect(try await there.scheduledMessages().map(\.text) == ["One"])
        try await there.schedule("Two", at: later, id: id)
        for text in ["Three", "Four"] { try await talk.schedule(text, at: later) }
        #expect(try await talk.scheduledMessages().map(\.text) == ["Two", "Three", "Four"], "of several pages")
        #expect(try await desk.scheduledMessages().count == 3)
        let all = try await talk.scheduledMessages()
        try await talk.cancelScheduled(all[2].id)
        try await talk.sendNow(all[1])
        let rows = await first(there.timeline()) { $0.rows.contains { $0.message.text == "Three" } }
        #expect(rows?.rows.contains { $0.message.text == "Two" } == true, "the time has come of both")
        #expect(try await there.scheduledMessages().isEmpty)
        await #expect(throws: ParleyError.self) { try await talk.cancelScheduled(id) }
        await desk.close()
        await phone.close()
    }

    @Test(
        "a message or a person is reported by whoever sees them; the same report again is one, and another under its id none"
    )
    func reports() async throws {
        let world = try FaceWorld()
        let (parley, outsider) = (try await world.connected(), try await world.connected(carla))
        let talk = parley.conversation(world.group)
        #expect(await first(talk.info) { $0 != nil } != nil)
        let message = try await talk.send("Buy this")
        #expect(await first(parley.pendingWrites) { $0 == 0 } != nil)
        let report = NewReport(of: message, .spam, text: "Again")
        try await talk.report(report)
        try await talk.report(report)
        let person = NewReport(of: ben, .harassment)
        try await talk.report(person)
        let kept = world.network.withServer { $0.reports(in: world.group) }
        #expect(kept.allSatisfy { $0.reporter == anna })
        #expect(Set(kept.map(\.report.id)) == [report.id, person.id] && kept.count == 2)
        let sent = try #require(kept.first { $0.report.id == report.id }?.report)
        #expect(sent.messageId == message && sent.userId == nil && sent.reason == .known(.spam) && sent.text == "Again")
        let unseen = outsider.conversation(world.group)
        for refused in [report, NewReport(of: message, .other), NewReport(of: ben, .other)] {
            let error = await #expect(throws: ParleyError.self) { try await unseen.report(refused) }
            guard case .refused(let problem) = error else { throw ParleyError.unreachable }
            #expect(problem.code == .known(refused == report ? .conflict : .notFound))
        }
        await parley.close()
        await outsider.close()
    }

    @Test("devices are listed and ended, one or all others")
    func devices() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let now = Timestamp(milliseconds: 1_750_000_000_000)
        let devices = ["phone", "tablet", "television"].map {
            Device(deviceId: $0, firstSeen: now, lastSeen: now, current: $0 == "phone")
        }
        world.network.withServer { $0.setDevices(devices, of: anna) }
        #expect(try await parley.devices() == devices)
        try await parley.endDevice("tablet")
        #expect(try await parley.devices().map(\.deviceId) == ["phone", "television"])
        try await parley.endOtherDevices()
        #expect(try await parley.devices().map(\.deviceId) == ["phone"])
        await parley.close()
    }

    @Test("who answers accepts, and opening the conversation oneself does", arguments: [true, false])
    func answersRequests(sends: Bool) async throws {
        let (world, pair) = try asking()
        let parley = try await world.connected()
        #expect(await first(parley.requests) { $0.count == 1 } != nil)
        if sends {
            try await parley.conversation(pair).send("Hi")
        } else {
            #expect(try await parley.direct(with: carla).id == pair)
        }
        #expect(
            await first(parley.conversations()) { $0.rows.contains { $0.id == pair && $0.conversation.isMember } }
                != nil)
        #expect(await first(parley.requestCount) { $0 == 0 } != nil)
        #expect(await soon { world.network.withServer { $0.isMember(anna, pair) } })
        await parley.close()
    }

    @Test("what is declined is gone on both devices, and the one who asks learns nothing")
    func declinesRequests() async throws {
        let (world, pair) = try asking()
        let phone = try await world.connected(file: "phone.db")
        let tablet = try await world.connected(file: "tablet.db")
        for parley in [phone, tablet] { #expect(await first(parley.requestCount) { $0 == 1 } != nil) }
        let before = world.network.withServer { $0.conversation(pair, for: carla) }
        try await phone.conversation(pair).decline()
        #expect(await first(phone.conversation(pair).info) { $0 == nil } != nil)
        for parley in [phone, tablet] { #expect(await first(parley.requestCount) { $0 == 0 } != nil) }
        #expect(await soon { world.network.withServer { $0.requests(of: anna).isEmpty } })
        #expect(world.network.withServer { $0.conversation(pair, for: carla) } == before)
        #expect(await first(tablet.conversations()) { !$0.rows.isEmpty }?.rows.map(\.id) == [world.group])
        for parley in [phone, tablet] { await parley.close() }
    }

    @Test("the list is asked for once, not at each start, and again after days in which it was not told of each")
    func asksForRequestsOnce() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        #expect(await first(parley.requestCount) { $0 == 0 } != nil)
        #expect(await soon { world.network.takeCalls().contains("ask /v1/requests") })
        for _ in 0..<3 {
            await parley.disconnect()
            await parley.connect()
            await world.online(parley)
            #expect(await first(parley.requestCount) { $0 == 0 } != nil)
        }
        #expect(!world.network.takeCalls().contains("ask /v1/requests"))
        await parley.disconnect()
        world.network.withServer { $0.asksAboutStrangers = true }
        // More private changes than the server keeps.
        for number in UInt64(1)...20 {
            world.network.withServer { server in
                server.createGroup(ConversationID(UUIDBytes(high: 8, low: number)), by: carla, with: [anna], title: nil)
            }
        }
        await parley.connect()
        #expect(await first(parley.requestCount) { $0 == 20 } != nil)
        await parley.close()
    }

    private var carla: UserID { UserID("carla")! }

    /// A world in which carla, whom anna does not know, has written to her.
    private func asking() throws -> (FaceWorld, ConversationID) {
        let world = try FaceWorld()
        let pair = world.network.withServer { [carla] server in
            server.asksAboutStrangers = true
            return server.direct(carla, anna).id
        }
        ask("Hello", pair, world, 1)
        return (world, pair)
    }

    private func ask(_ text: String, _ pair: ConversationID, _ world: FaceWorld, _ number: UInt64) {
        world.network.withServer { [carla] server in
            let row = OutboxRow(
                key: 1, conversation: pair, message: messageId(500 + number), write: send(text),
                idempotencyKey: key(500 + number), at: time(1))
            _ = server.carryOut(.single(row), by: carla)
        }
    }

    @Test("the conversation of two ends with a block, and goes on without what was sent meanwhile")
    func blocksInDirect() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = try await parley.direct(with: ben)
        try await talk.send("before")
        #expect(await first(talk.timeline()) { $0.texts == ["before"] && $0.areAllStored } != nil)
        _ = await first(talk.members) { $0.isComplete }
        try await parley.block(ben)
        #expect(await first(talk.info) { $0?.isBlocked == true && $0?.conversation.windows.last?.to != nil } != nil)
        let send = { @Sendable (text: String, number: UInt64) in
            world.network.withServer { server in
                _ = server.carryOut(
                    .single(
                        OutboxRow(
                            key: 1, conversation: talk.id, message: messageId(number), write: ParleyKitTests.send(text),
                            idempotencyKey: key(number), at: time(1))), by: ben)
            }
        }
        send("meanwhile", 51)
        try await parley.unblock(ben)
        #expect(await first(talk.info) { $0?.isBlocked == false && $0?.conversation.windows.last?.to == nil } != nil)
        send("after", 52)
        #expect(await first(talk.timeline()) { $0.texts == ["before", "after"] } != nil)
        await parley.close()
    }

    @Test("who is shown has the name that they give themselves, and has another one as soon as they change it")
    func names() async throws {
        let world = try FaceWorld()
        world.write("hello", 1)
        world.network.withServer { _ = $0.setProfile(.init(displayName: "Ben B."), of: ben) }
        let parley = try await world.connected()
        #expect(await first(parley.names) { _ in true }?[ben] == "ben")
        // Nobody is asked for who is not shown.
        let timeline = parley.conversation(world.group).timeline()
        #expect(await first(timeline) { $0.texts == ["hello"] } != nil)
        #expect(await first(parley.names) { $0[ben] == "Ben B." } != nil)
        let other = try await world.connected(ben)
        try await other.setDisplayName("Benjamin")
        #expect(await first(parley.names) { $0[ben] == "Benjamin" } != nil)
        #expect(await first(other.names) { $0[ben] == "Benjamin" } != nil)
        #expect((await first(parley.profile(of: ben)) { $0 != nil } ?? nil)?.version == 2)
        await parley.close()
        await other.close()
    }

    @Test("a new name leaves the rest of a profile, and what the server refuses is thrown")
    func setsNames() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let picture = "https://pictures.example/anna.png"
        try await parley.setProfile(displayName: "Anna", avatarUrl: picture, extra: ["team": .string("blue")])
        try await parley.setDisplayName("Anna A.")
        let profile = await first(parley.profile(of: anna)) { $0?.version == 2 } ?? nil
        let expected = Profile(
            userId: anna, version: 2, displayName: "Anna A.", avatarUrl: picture, extra: ["team": .string("blue")])
        #expect(profile == expected)
        await #expect(throws: ParleyError.self) {
            try await parley.setDisplayName(String(repeating: "x", count: 81))
        }
        #expect(await first(parley.names) { _ in true }?[anna] == "Anna A.")
        world.network.isReachable = false
        await #expect(throws: ParleyError.self) { try await parley.setDisplayName("away") }
        await parley.close()
    }
}
