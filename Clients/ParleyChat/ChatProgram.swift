import CNcurses
import Foundation
import Glibc
import ParleyKit
import ParleyPresentation
import Reactor

/// The terminal client: `ChatScreen` between a terminal and ParleyKit. All of it is on the reactor's thread; what takes
/// time is done elsewhere.
@Reactor
package final class ChatProgram {
    package struct Settings: Sendable {
        package var user: UserID
        /// To be opened at the start.
        package var conversation: ConversationID?
        package var usesMouse: Bool

        package init(user: UserID, conversation: ConversationID?, usesMouse: Bool) {
            self.user = user
            self.conversation = conversation
            self.usesMouse = usesMouse
        }
    }

    private let settings: Settings
    private let parley: Parley
    private let terminal: Terminal
    private var screen: ChatScreen
    private var list: ConversationList
    private var folder = ListFolder.inbox
    private var listObserver: Task<Void, Never>?
    /// What is observed as long as it runs, and as long as a conversation is open.
    private var observers: [Task<Void, Never>] = []
    private var open: OpenedTalk?
    private var search: Task<Void, Never>?
    /// What a panel shows of the open conversation.
    private var detail: Task<Void, Never>?
    /// What the user did, one after the other.
    private let actions: AsyncStream<@Reactor @Sendable () async -> Void>
    private let act: AsyncStream<@Reactor @Sendable () async -> Void>.Continuation
    private var isDrawDue = false
    private var draftTimer: TimerID?
    private var typingTimer: TimerID?
    private var end: UnsafeContinuation<Int32, Never>?

    /// A conversation that is shown.
    private struct OpenedTalk {
        let talk: Talk
        let timeline: Timeline
        let observers: [Task<Void, Never>]
    }

    /// Signals that end the program, which it must learn of before there are threads.
    package static func prepare() {
        for number in [SIGTERM, SIGHUP, SIGINT] { Reactor.onSignal(number) { running?.leave() } }
        Reactor.onSignal(SIGWINCH) { running?.resized() }
    }

    /// To be called when there can be no TLS with the server, such as for a certificate that is not trusted.
    package nonisolated static func distrust(_ sentence: String) {
        Reactor.spawn { running?.apply(.untrusted(sentence)) }
    }

    private static weak var running: ChatProgram?

    private init(_ settings: Settings, parley: Parley) throws(Terminal.Unusable) {
        self.settings = settings
        self.parley = parley
        terminal = try Terminal(mouse: settings.usesMouse)
        screen = ChatScreen(user: settings.user)
        list = parley.conversations()
        (actions, act) = AsyncStream.makeStream()
    }

    /// Runs until the user leaves.
    ///
    /// - Returns: why it could not be run; nil after it was.
    package static func run(_ settings: Settings, parley: Parley) async -> String? {
        do throws(Terminal.Unusable) {
            let program = try ChatProgram(settings, parley: parley)
            running = program
            await program.run()
            return nil
        } catch {
            return "this needs a terminal with UTF-8, of a kind that TERM names"
        }
    }

    private func run() async {
        Reactor.watch(STDIN_FILENO, for: .read, handler: self)
        let worker = Reactor.spawn { [actions] in for await action in actions { await action() } }
        screen.conversationAtStart = settings.conversation
        observe()
        apply(.resized(terminal.size))
        Reactor.spawn { [parley] in await parley.connect() }
        _ = await withUnsafeContinuation { end = $0 }
        Reactor.forget(STDIN_FILENO)
        terminal.close()
        // What the user did last is stored before the end, and what could not be sent of it.
        act.yield { [act] in act.finish() }
        await worker.value
        for observer in observers + (open?.observers ?? []) { observer.cancel() }
        detail?.cancel()
        listObserver?.cancel()
        if screen.connection == .online { await sendRest() }
        await parley.close()
    }

    /// What the user wrote last is with the server and on their other devices, if that takes no time.
    private func sendRest() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [parley] in await parley.catchUp() }
            group.addTask { try? await Task.sleep(for: .seconds(1)) }
            await group.next()
            group.cancelAll()
        }
    }

    private func leave() {
        carryOut(screen.leave())
        quit()
    }

    private func quit() {
        end?.resume(returning: 0)
        end = nil
    }

    // MARK: The terminal

    private func resized() {
        terminal.resize()
        apply(.resized(terminal.size))
    }

    /// Once for all that happens in a turn.
    private func drawSoon() {
        guard !isDrawDue else { return }
        isDrawDue = true
        Reactor.atEndOfTurn { [self] in
            isDrawDue = false
            terminal.draw(screen.frame())
        }
    }

    // MARK: Events

    private func apply(_ update: ChatUpdate) {
        carryOut(screen.apply(update, at: .now))
        drawSoon()
    }

    private func press(_ key: Key) {
        carryOut(screen.handle(key, at: .now))
        startTimers()
        drawSoon()
    }

    /// A draft is stored a second after it was begun, typing ends five seconds after the last key.
    private func startTimers() {
        if draftTimer == nil, screen.talk?.hasUnsavedDraft ?? false {
            draftTimer = Reactor.after(.seconds(1)) { [self] in
                draftTimer = nil
                carryOut(screen.keepDraft())
            }
        }
        guard typingTimer == nil, screen.talk?.typingSince != nil else { return }
        typingTimer = Reactor.after(.seconds(5)) { [self] in
            typingTimer = nil
            apply(.time)
            startTimers()
        }
    }

    // MARK: Observing

    private func observeList() {
        listObserver?.cancel()
        listObserver = Reactor.spawn { [self, list, folder] in
            if folder == .requests {
                for await requests in parley.requests where !Task.isCancelled {
                    apply(.list(requests.map(ListEntry.init), hasMore: false))
                }
                return
            }
            for await update in list where !Task.isCancelled {
                apply(.list(update.rows.map(ListEntry.init), hasMore: update.hasMore))
            }
        }
    }

    private func observe() {
        observeList()
        observers = [
            Reactor.spawn { [self] in
                for await total in parley.unread { apply(.unread(total.messages)) }
            },
            Reactor.spawn { [self] in
                for await count in parley.requestCount { apply(.requests(count)) }
            },
            Reactor.spawn { [self] in
                for await state in parley.connection { apply(.connection(state)) }
            },
            Reactor.spawn { [self] in
                for await presence in parley.presence {
                    apply(
                        .presence(
                            online: Set(presence.filter(\.value.isOnline).keys),
                            lastSeen: presence.compactMapValues(\.lastSeen)))
                }
            },
            Reactor.spawn { [self] in
                for await settings in parley.settings { apply(.settings(settings)) }
            },
            Reactor.spawn { [self] in
                for await users in parley.blockedUsers { apply(.blocked(users)) }
            },
            Reactor.spawn { [self] in
                for await names in parley.names { apply(.names(names)) }
            },
            Reactor.spawn { [self] in
                for await groups in parley.joinRequested { apply(.joinRequested(groups)) }
            },
            Reactor.spawn { [self] in
                for await changed in parley.scheduledChanged { apply(.scheduledChanged(changed)) }
            },
            Reactor.spawn { [self] in
                for await refused in parley.refusedWrites { apply(.notice(refused.sentence)) }
            },
            Reactor.spawn { [self] in
                for await problem in parley.problems { apply(.notice(problem.sentence)) }
            },
        ]
    }

    private func show(_ id: ConversationID) {
        detail?.cancel()
        for observer in open?.observers ?? [] { observer.cancel() }
        let talk = parley.conversation(id)
        let timeline = talk.timeline(.unread)
        let observers = [
            Reactor.spawn { [self] in
                for await update in timeline {
                    apply(.timeline(id, TimelineState(update)))
                }
            },
            Reactor.spawn { [self] in
                for await row in talk.info { apply(row.map { .info(ListEntry($0)) } ?? .gone(id)) }
            },
            Reactor.spawn { [self] in
                for await update in talk.receipts { apply(.receipts(id, update.messages)) }
            },
            Reactor.spawn { [self] in
                for await update in talk.members { apply(.members(id, update.members)) }
            },
            Reactor.spawn { [self] in
                for await users in talk.typing { apply(.typing(id, users)) }
            },
            Reactor.spawn { [self] in
                for await uploads in talk.uploads { apply(.uploads(id, uploads)) }
            },
            Reactor.spawn { [self] in apply(.repliesToAttachments(await parley.repliesToAttachments)) },
        ]
        open = OpenedTalk(talk: talk, timeline: timeline, observers: observers)
    }

    // MARK: Effects

    private func carryOut(_ effects: [ChatEffect]) { for effect in effects { carryOut(effect) } }

    private func carryOut(_ effect: ChatEffect) {
        switch effect {
        case .open(let id):
            show(id)
            write { talk throws(ParleyError) in try await talk.unmarkUnread() }
        case .loadBefore: open?.timeline.extendBackward()
        case .loadAfter: open?.timeline.extendForward()
        case .showNewest: open?.timeline.jumpToNewest()
        case .show(let message): open?.timeline.jump(to: message)
        case .loadMoreConversations: list.extend()
        case .showFolder(let folder):
            self.folder = folder
            if folder != .requests { list = parley.conversations(in: folder == .archive ? .archive : .inbox) }
            observeList()
        case .mute(let id, let mutes):
            mark(id) { talk throws(ParleyError) in mutes ? try await talk.mute() : try await talk.unmute() }
        case .pin(let id, let pins):
            mark(id) { talk throws(ParleyError) in pins ? try await talk.pin() : try await talk.unpin() }
        case .archive(let id, let archives):
            mark(id) { talk throws(ParleyError) in archives ? try await talk.archive() : try await talk.unarchive() }
        case .markUnread(let id, let marks):
            mark(id) { talk throws(ParleyError) in marks ? try await talk.markUnread() : try await talk.unmarkUnread() }
        case .accept: write { talk throws(ParleyError) in try await talk.accept() }
        case .decline: write { talk throws(ParleyError) in try await talk.decline() }
        case .send(let text, let parent):
            send(Draft(text: text, replyTo: parent)) { talk throws(ParleyError) in
                try await talk.send(text, replyTo: parent)
            }
        case .forward(let it, let target):
            let talk = parley.conversation(it.source)
            act.yield { [self] in
                await attempt { () throws(ParleyError) in
                    try await talk.forward(it.message, to: target, showingOrigin: it.showsOrigin)
                }
            }
        case .sendFile(let path, let text, let parent): sendFile(path, text, replyTo: parent)
        case .saveFile(let file, let path): save(file, path)
        case .edit(let id, let text): write { talk throws(ParleyError) in try await talk.edit(id, text: text) }
        case .delete(let id, let forEveryone):
            write { talk throws(ParleyError) in try await talk.delete(id, forEveryone ? .everyone : .forMe) }
        case .react(let id, let kind): write { talk throws(ParleyError) in try await talk.react(id, kind) }
        case .sendPoll(let question, let options, let isMultiple):
            let lines = [(isMultiple ? "+" : "") + question] + options
            send(Draft(text: lines.joined(separator: "\n"))) { talk throws(ParleyError) in
                try await talk.send(poll: question, options: options, multiple: isMultiple)
            }
        case .vote(let id, let options): write { talk throws(ParleyError) in try await talk.vote(id, options) }
        case .closePoll(let id): write { talk throws(ParleyError) in try await talk.closePoll(id) }
        case .pinMessage(let id, let pins):
            write { talk throws(ParleyError) in try await talk.setPinned(pins, id) }
        case .loadPinned:
            write { [self] talk throws(ParleyError) in await apply(.pinned(talk.id, try await talk.pinnedMessages())) }
        case .findMention:
            write { [self] talk throws(ParleyError) in await apply(.mention(talk.id, try await talk.nextMention())) }
        case .loadScheduled: loadScheduled()
        case .schedule(let text, let time, let parent):
            send(Draft(text: text, replyTo: parent)) { talk throws(ParleyError) in
                try await talk.schedule(text, at: time, replyTo: parent)
            }
        case .sendScheduledNow(let message):
            write { talk throws(ParleyError) in try await talk.sendNow(message) }
        case .cancelScheduled(let id): write { talk throws(ParleyError) in try await talk.cancelScheduled(id) }
        case .retry(let id): write { talk throws(ParleyError) in try await talk.retry(id) }
        case .discard(let id): write { talk throws(ParleyError) in try await talk.discard(id) }
        case .markRead(let seq): write { talk throws(ParleyError) in try await talk.markRead(upTo: seq) }
        case .typing(let isTyping):
            guard let talk = open?.talk else { break }
            act.yield { await talk.setTyping(isTyping) }
        case .keepDraft(let id, let draft):
            let talk = parley.conversation(id)
            act.yield { [self] in await attempt { () throws(ParleyError) in try await talk.setDraft(draft) } }
        case .addToDraft(let id, let written): addToDraft(written, in: id)
        case .putDraft(let id):
            let talk = parley.conversation(id)
            act.yield { await talk.putDraft() }
        case .search(let words): find(words)
        case .createGroup(let members, let title):
            begin { parley throws(ParleyError) in try await parley.createGroup(with: members, title: title) }
        case .direct(let user): begin { parley throws(ParleyError) in try await parley.direct(with: user) }
        case .rename(let title): write { talk throws(ParleyError) in try await talk.rename(title) }
        case .put(let user, let role): write { talk throws(ParleyError) in try await talk.add(user, role: role) }
        case .remove(let user): write { talk throws(ParleyError) in try await talk.remove(user) }
        case .permit(let permission, let roles):
            write { talk throws(ParleyError) in try await talk.permit(permission, to: roles) }
        case .setLifetime(let seconds, let start):
            write { talk throws(ParleyError) in try await talk.setMessageLifetime(seconds: seconds, from: start) }
        case .loadBans: loadBans()
        case .liftBan(let user): write { talk throws(ParleyError) in try await talk.liftBan(of: user) }
        case .loadInvitations: loadInvitations()
        case .invite(let approval): invite(approval: approval)
        case .loadJoinRequests: loadJoinRequests()
        case .declineJoinRequest(let user):
            write { talk throws(ParleyError) in try await talk.declineJoinRequest(of: user) }
        case .revoke(let id):
            write { talk throws(ParleyError) in try await talk.revoke(id) }
            loadInvitations()
        case .lookAtInvitation(let code): look(at: code)
        case .join(let code):
            join(by: code)
        case .report(let report): self.report(report)
        case .loadDevices: showDevices { _ in }
        case .endDevice(let name):
            showDevices(conflict: "No more can be ended one by one: o ends all others.") { parley throws(ParleyError) in
                try await parley.endDevice(name)
            }
        case .endOtherDevices:
            showDevices { parley throws(ParleyError) in try await parley.endOtherDevices() }
        case .leaveGroup: write { talk throws(ParleyError) in try await talk.leave() }
        case .removeFromList: write { talk throws(ParleyError) in try await talk.removeFromList() }
        case .setReadReceiptsHere(let choice):
            write { talk throws(ParleyError) in try await talk.set(readReceipts: choice) }
        case .set(let readReceipts, let presence):
            act.yield { [self] in
                await attempt { [parley] () throws(ParleyError) in
                    try await parley.set(readReceipts: readReceipts, presence: presence)
                }
            }
        case .block(let user, let isBlocked):
            act.yield { [self] in
                await attempt { [parley] () throws(ParleyError) in
                    if isBlocked { try await parley.block(user) } else { try await parley.unblock(user) }
                }
            }
        case .setName(let name):
            act.yield { [self] in
                await attempt { [parley] () throws(ParleyError) in try await parley.setDisplayName(name) }
            }
        case .watchSettingsHere:
            watch { [self] talk in for await settings in talk.settings { apply(.settingsHere(talk.id, settings)) } }
        case .watchRevisions(let id):
            watch { [self] talk in for await texts in talk.revisions(of: id) { apply(.revisions(id, texts)) } }
        case .reconnect: Reactor.spawn { [parley] in await parley.connect() }
        case .redraw: terminal.redraw()
        case .quit: quit()
        }
    }

    /// Does something in the conversation that is open now, after what was done before.
    private func write(_ body: @escaping @Sendable (Talk) async throws(ParleyError) -> Void) {
        guard let talk = open?.talk else { return }
        act.yield { [self] in await attempt { () throws(ParleyError) in try await body(talk) } }
    }

    /// Does something with a conversation of the list, after what was done before.
    private func mark(_ id: ConversationID, _ body: @escaping @Sendable (Talk) async throws(ParleyError) -> Void) {
        let talk = parley.conversation(id)
        act.yield { [self] in await attempt { () throws(ParleyError) in try await body(talk) } }
    }

    private func loadScheduled() {
        write { [self] talk throws(ParleyError) in
            await apply(.scheduled(talk.id, try await talk.scheduledMessages()))
        }
    }

    private func attempt(_ body: @Sendable () async throws(ParleyError) -> Void) async {
        do throws(ParleyError) { try await body() } catch { apply(.notice(error.sentence)) }
    }

    /// Sends what was written, after what was done before. What cannot be sent is given back: nothing of it is lost.
    private func send(_ written: Draft, _ body: @escaping @Sendable (Talk) async throws(ParleyError) -> Void) {
        guard let talk = open?.talk else { return }
        act.yield { [self] in
            do throws(ParleyError) {
                try await body(talk)
            } catch {
                apply(.notice(error.sentence))
                if !written.text.isEmpty { apply(.draft(talk.id, written)) }
            }
        }
    }

    /// Copies the file, so that what is written next waits for it and stays behind it.
    private func sendFile(_ path: String, _ text: String, replyTo parent: MessageID?) {
        let file = LocalFile(UserPath.url(path))
        send(Draft(text: text, replyTo: parent)) { talk throws(ParleyError) in
            try await talk.send(text, attachments: [file], replyTo: parent)
        }
    }

    private func addToDraft(_ written: Draft, in id: ConversationID) {
        let talk = parley.conversation(id)
        act.yield { [self] in
            // It may be open again.
            if screen.talk?.id == id { return apply(.draft(id, written)) }
            await attempt { () throws(ParleyError) in
                let begun = await talk.draft
                try await talk.setDraft(written.followed(by: begun))
            }
        }
    }

    /// Loads a file, if it has to be, and copies it. Nothing waits for it.
    private func save(_ file: AttachmentRow, _ path: String) {
        guard let talk = open?.talk else { return }
        if file.content == nil { apply(.notice("Loading \(FileLabel(file.attachment).text)…")) }
        Reactor.spawn { [self] in
            do throws(ParleyError) {
                let content = try await talk.content(of: file)
                apply(.notice(await UserPath.copy(content, to: path, named: SafeFileName.of(file.attachment.name))))
            } catch {
                apply(.notice(error.sentence))
            }
        }
    }

    /// The server may have to be asked, so nothing waits for it.
    private func begin(_ body: @escaping @Sendable (Parley) async throws(ParleyError) -> Talk) {
        Reactor.spawn { [self, parley] in
            do throws(ParleyError) {
                let talk = try await body(parley)
                carryOut(screen.open(talk.id))
                drawSoon()
            } catch {
                apply(.notice(error.sentence([:])))
            }
        }
    }

    private static let refusalsOfJoining: [Problem.Code: String] = [
        .notFound: "This invitation is not good any more.", .tooLarge: "The group is full.",
        .conflict: "You are in as many conversations as is possible.",
    ]

    private func watch(_ body: @escaping @Reactor @Sendable (Talk) async -> Void) {
        detail?.cancel()
        guard let talk = open?.talk else { return }
        detail = Reactor.spawn { await body(talk) }
    }

    private func loadBans() {
        write { [self] talk throws(ParleyError) in
            do throws(ParleyError) {
                await apply(.bans(talk.id, try await talk.bans()))
            } catch {
                await apply(.bans(talk.id, nil))
                throw error
            }
        }
    }

    private func loadJoinRequests() {
        write { [self] talk throws(ParleyError) in
            do throws(ParleyError) {
                await apply(.joinRequests(talk.id, try await talk.joinRequests()))
            } catch {
                await apply(.joinRequests(talk.id, nil))
                throw error
            }
        }
    }

    private func join(by code: String) {
        Reactor.spawn { [self, parley] in
            do throws(ParleyError) {
                switch try await parley.join(by: code) {
                case .joined(let talk):
                    carryOut(screen.open(talk.id))
                    drawSoon()
                case .asked: apply(.asked)
                }
            } catch {
                apply(.notice(error.sentence(Self.refusalsOfJoining)))
            }
        }
    }

    private func loadInvitations() {
        write { [self] talk throws(ParleyError) in
            do throws(ParleyError) {
                await apply(.invitations(talk.id, try await talk.invitations()))
            } catch {
                await apply(.invitations(talk.id, nil))
                throw error
            }
        }
    }

    /// Good for a week.
    private func invite(approval: Bool) {
        let end = Timestamp(milliseconds: Timestamp.now.milliseconds + 7 * 86_400_000)
        write { [self] talk throws(ParleyError) in
            do throws(ParleyError) {
                await apply(.invited(talk.id, try await talk.invite(until: end, approval: approval)))
            } catch {
                await apply(.notice(error.sentence([.conflict: "There are as many as is possible: x ends one."])))
            }
        }
        loadInvitations()
    }

    private func look(at code: String) {
        Reactor.spawn { [self, parley] in
            do throws(ParleyError) {
                apply(.invitation(code, try await parley.invitation(code)))
            } catch {
                apply(.notice(error.sentence(Self.refusalsOfJoining)))
            }
        }
    }

    private func report(_ report: NewReport) {
        write { [self] talk throws(ParleyError) in
            do throws(ParleyError) {
                try await talk.report(report)
                await apply(.reported(report.id))
            } catch {
                await apply(.notice(error.sentence(Self.refusalsOfReporting)))
            }
        }
    }

    private static let refusalsOfReporting: [Problem.Code: String] = [
        .notFound: "It is not there any more.", .conflict: "You have reported as much here as is possible at a time.",
    ]

    /// Does something with the user's devices, and shows which there are then.
    private func showDevices(
        conflict: String? = nil, after body: @escaping @Sendable (Parley) async throws(ParleyError) -> Void
    ) {
        act.yield { [self, parley] in
            do throws(ParleyError) {
                try await body(parley)
                apply(.devices(try await parley.devices()))
            } catch {
                apply(.devices(nil))
                apply(.notice(error.sentence(conflict.map { [.conflict: $0] } ?? [:])))
            }
        }
    }

    private func find(_ words: String) {
        search?.cancel()
        search = Reactor.spawn { [self] in
            for await update in parley.search(words) where !Task.isCancelled {
                apply(.found(words, update.hits.map(\.message)))
            }
        }
    }
}

extension ChatProgram: DescriptorHandler {
    package func ready(_ readiness: Readiness) {
        while let key = terminal.nextKey() { press(key) }
        // The terminal is gone.
        if readiness.contains(.hangup) { leave() }
    }
}

extension ListEntry {
    fileprivate init(_ row: ConversationRow) {
        self.init(
            conversation: row.conversation, other: row.counterpart, latest: row.preview, draft: row.draft,
            hasFailed: row.hasFailedMessage, isBlocked: row.isBlocked)
    }

    fileprivate init(_ request: RequestRow) {
        self.init(request.row)
        requester = request.userId
    }
}

extension TimelineState {
    fileprivate init(_ update: TimelineUpdate) {
        self.init(
            rows: update.rows, hasMoreBefore: update.hasMoreBefore, hasMoreAfter: update.hasMoreAfter,
            firstUnread: update.firstUnread)
    }
}

extension Timestamp {
    fileprivate static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}

extension ParleyError {
    /// - Parameter refusals: what to say of codes that mean something of their own here.
    fileprivate func sentence(_ refusals: [Problem.Code: String]) -> String {
        guard case .refused(let problem) = self, case .known(let code) = problem.code else { return sentence }
        return refusals[code] ?? sentence
    }

    /// For the user.
    fileprivate var sentence: String {
        switch self {
        case .closed: "The client is closed."
        case .storage(let error): "This could not be stored on this device: \(error.description)"
        case .unreachable: "The server cannot be reached."
        case .refused(let problem): "The server refused this: \(problem.reason)."
        case .file(let problem): problem.sentence
        case .damagedFile: "What came from the server is not the file of this message."
        }
    }
}

extension FileProblem {
    fileprivate var sentence: String {
        switch self {
        case .unreadable(let name): "“\(name)” is no file that can be read."
        case .tooLarge(let name, let limit): "“\(name)” is larger than \(FileLabel.size(limit))."
        case .tooMany(let limit): "A message has at most \(limit) files."
        case .noRoom(let name): "There is no room for a copy of “\(name)”."
        }
    }
}

extension ParleyProblem {
    fileprivate var sentence: String {
        switch self {
        case .storage(let error): "The copy on this device: \(error.description)"
        case .setAside(let file, let salvaged):
            "The copy was damaged and is loaded anew; \(salvaged) unsent were saved. It is kept as \(file)."
        case .noToken: "There is no token."
        }
    }
}

extension RefusedWrite {
    fileprivate var sentence: String { "\(action.name) was undone: \(reason)." }

    private var reason: String {
        switch (action, problem.code) {
        case (.addMember, .known(.conflict)): "that user cannot be added"
        case (.addMember, .known(.tooLarge)): "the group is full"
        case (.changeLifetime, .known(.tooLarge)): "the group is too large to count from reading on"
        case (.accept, .known(.conflict)): "you are in as many conversations as is possible"
        case (.block, .known(.conflict)): "you have blocked as many as is possible"
        case (.changeRole, .known(.forbidden)), (.changePermissions, .known(.forbidden)): "only an owner can do that"
        case (.addMember, .known(.forbidden)), (.removeMember, .known(.forbidden)), (.liftBan, .known(.forbidden)),
            (.changeLifetime, .known(.forbidden)):
            "only owners or admins can do that"
        default: problem.reason
        }
    }
}

extension RefusedWrite.Action {
    fileprivate var name: String {
        switch self {
        case .edit: "The edit"
        case .deleteForMe, .deleteForEveryone: "The deletion"
        case .react: "The tapback"
        case .pinMessage: "The pin"
        case .vote: "The vote"
        case .closePoll: "Closing the poll"
        case .clearHistory: "Clearing the history"
        case .rename: "The new title"
        case .addMember(let user): "Adding \(user.name)"
        case .changeRole(let user): "The new role of \(user.name)"
        case .removeMember(let user): "Removing \(user.name)"
        case .changePermissions: "The change of who may do what"
        case .changeLifetime: "The time that messages stay"
        case .liftBan(let user): "Allowing \(user.name) back"
        case .createGroup: "The new group"
        case .removeFromList: "Removing the conversation"
        case .settings: "The setting"
        case .mark: "What you wanted with the conversation"
        case .block(let user): "Blocking \(user)"
        case .unblock(let user): "Unblocking \(user)"
        case .accept: "Accepting the request"
        case .decline: "Declining the request"
        }
    }
}
