import Models
import ParleyPresentation
import ParleyStorage
import ParleySync

/// The terminal client as a state: keys and news in, what to do and a frame out. It knows neither terminal nor network.
struct ChatScreen {
    /// Where keys go.
    enum Focus: Equatable {
        case list, composer, messages
        case search(SearchPanel)
        case beginning(NewConversationPanel)
        case joining(JoiningPanel)
        /// What to do with the selected message.
        case tapback, deletion, voting
        case help
        case details(DetailsPanel)
        case settings(SettingsPanel)
        case revisions(RevisionsPanel)
        case reporting(ReportPanel)
        case attaching(AttachPanel)
        case saving(SavePanel)
        case scheduling(SchedulePanel)
    }

    let user: UserID
    var size = Size(columns: 80, rows: 24)
    var focus = Focus.list
    /// Whether the user looks at the terminal. Only then anything counts as read.
    var isLookedAt = true
    var connection = ConnectionState.connecting
    /// Whether the server was heard once: before, nothing is wrong.
    var wasOnline = false
    /// Why the server is not trusted.
    var distrust: String?
    /// Told until the next key.
    var notice: String?

    var list: [ListEntry] = []
    var hasMoreInList = false
    /// Which part of the list is shown.
    var folder = ListFolder.inbox
    /// How many requests wait.
    var requestCount = 0
    /// In all conversations.
    var unread = 0
    var marked: ConversationID?
    /// What goes to the conversation that the user chooses next.
    var forwarding: Forwarding?
    var hasChosen = false
    var online: Set<UserID> = []
    var lastSeen: [UserID: Timestamp] = [:]
    /// The user's own; nil until they are known.
    var settings: Settings?
    /// Whom the user has blocked, by name.
    var blocked: [UserID] = []
    var repliesToAttachments = false
    /// To be opened when the server was heard, or cannot be: only then it is known what is unread.
    var conversationAtStart: ConversationID?
    var talk: OpenConversation?
    /// To be shown in the conversation that is being opened.
    private var targetOfOpening: MessageID?
    var now = Timestamp(milliseconds: 0)
    /// What people are called, as they wrote it.
    private(set) var names = UserNames()
    private(set) var maker: BubbleMaker
    let memory = LayoutMemory()

    init(user: UserID, times: LocalTimes = LocalTimes()) {
        self.user = user
        var decorators = DecoratorRegistry.standard
        decorators.remove(id: TimestampDecorator().id)  // The time is in the head of each run.
        maker = BubbleMaker(viewer: user, times: times, decorators: decorators)
    }

    // MARK: News

    mutating func apply(_ update: ChatUpdate, at now: Timestamp) -> [ChatEffect] {
        self.now = now
        var effects = take(update)
        effects += afterwards()
        return effects
    }

    private mutating func take(_ update: ChatUpdate) -> [ChatEffect] {
        switch update {
        case .resized(let size): self.size = size
        case .list(let list, let hasMore): take(list, hasMore)
        case .unread(let count): unread = count
        case .info(let entry) where entry.conversation.id == talk?.id:
            take(entry)
            resumeReply()
        case .gone(let id) where id == talk?.id && isRequest: return closeRequest()
        case .requests(let count):
            requestCount = count
            if count == 0, folder == .requests { return show(.inbox) }
        case .timeline(let id, let timeline) where id == talk?.id: take(timeline)
        case .receipts(let id, let receipts) where id == talk?.id: take(receipts)
        case .members(let id, let members) where id == talk?.id: talk?.members = members
        case .typing(let id, let users) where id == talk?.id: talk?.typing = users.filter { $0 != user }
        case .presence(let online, let lastSeen):
            self.online = online
            self.lastSeen = lastSeen
        case .draft(let id, let draft): return id == talk?.id ? takeBack(draft) : [.addToDraft(id, draft)]
        case .uploads(let id, let uploads) where id == talk?.id: talk?.uploads = uploads
        case .repliesToAttachments(let isPossible): repliesToAttachments = isPossible
        case .connection(let state):
            connection = state
            wasOnline = wasOnline || state == .online
            return openAtStart()
        case .untrusted(let sentence): distrust = sentence.prefix(1).uppercased() + sentence.dropFirst()
        case .found(let query, let messages):
            guard case .search(var panel) = focus, panel.pinnedIn == nil, panel.query == query else { break }
            panel.take(messages)
            focus = .search(panel)
        case .pinned(let id, let messages):
            guard case .search(var panel) = focus, panel.pinnedIn == id else { break }
            panel.take(messages)
            focus = .search(panel)
        case .mention(let id, let message) where id == talk?.id:
            guard let message else {
                notice = "No unread message mentions you."
                break
            }
            return show(message.id)
        case .scheduled(let id, let messages): take(messages, in: id)
        case .scheduledChanged(let changed):
            if case .scheduling(let panel) = focus, changed.contains(panel.talk) { return [.loadScheduled] }
        case .settings(let settings): self.settings = settings
        case .blocked(let users): blocked = users
        case .names(let names): take(names)
        case .settingsHere(let id, let settings) where id == talk?.id:
            guard case .details(var panel) = focus else { break }
            panel.settings = settings
            focus = .details(panel)
        case .bans(let id, let bans) where id == talk?.id:
            guard case .details(var panel) = focus, case .bans(_, let index) = panel.step else { break }
            panel.step = bans.map { .bans($0, min(index, max(0, $0.count - 1))) } ?? .looking
            focus = .details(panel)
        case .invitations(let id, let invitations) where id == talk?.id:
            guard case .details(var panel) = focus, case .invitations(var step) = panel.step else { break }
            if let invitations { step.take(invitations) }
            panel.step = invitations == nil ? .looking : .invitations(step)
            focus = .details(panel)
        case .joinRequests(let id, let requests) where id == talk?.id:
            guard case .details(var panel) = focus, case .joinRequests(_, let index) = panel.step else { break }
            panel.step = requests.map { .joinRequests($0, min(index, max(0, $0.count - 1))) } ?? .looking
            focus = .details(panel)
        case .joinRequested(let groups):
            if let id = talk?.id, groups.contains(id), case .details(let panel) = focus,
                case .joinRequests = panel.step
            {
                return [.loadJoinRequests]
            }
            let titles = groups.compactMap { entry(of: $0).map(name(of:)) }.joined(separator: ", ")
            notice = HarmlessText.line("Somebody asks to join \(titles.isEmpty ? "a group" : titles).")
        case .asked: notice = "You asked to join. The group comes into the list when you are let in."
        case .invited(let id, let invitation) where id == talk?.id:
            guard case .details(var panel) = focus, case .invitations(var step) = panel.step else { break }
            step.code = invitation.code
            panel.step = .invitations(step)
            focus = .details(panel)
        case .invitation(let code, let preview):
            // The user may have turned to something else.
            guard case .beginning(let panel) = focus, InvitationLink.code(in: panel.names.text) == code else { break }
            focus = .joining(JoiningPanel(code: code, preview: preview))
        case .devices(let devices):
            guard case .settings(var panel) = focus, var step = panel.devices else { break }
            if let devices { step.take(devices) }
            panel.devices = devices == nil ? nil : step
            focus = .settings(panel)
        case .revisions(let id, let revisions):
            guard case .revisions(var panel) = focus, panel.message == id else { break }
            panel.revisions = revisions
            focus = .revisions(panel)
        case .reported(let id):
            notice = "Reported to those who run the service. Nobody else learns of it."
            if case .reporting(let panel) = focus, panel.report?.id == id { leavePanel() }
        case .notice(let text): notice = HarmlessText.line(text)
        case .time: return endTyping(after: 5)
        // Of one that was left.
        case .info, .gone, .timeline, .receipts, .members, .typing, .uploads, .mention, .settingsHere, .bans,
            .invitations, .invited, .joinRequests:
            break
        }
        return []
    }

    private mutating func take(_ entry: ListEntry) {
        // What is known of one conversation alone does not say who asks.
        let requester = entry.requester ?? self.entry(of: entry.conversation.id)?.requester
        talk?.entry = entry
        talk?.entry?.requester = requester
        talk?.takeOver(entry.draft)
    }

    private mutating func take(_ names: UserNames) {
        self.names = names
        maker.name = { Self.called($0, names) }
        makeBubbles()
    }

    /// What somebody is called, without what could disturb the terminal.
    func called(_ user: UserID) -> String { Self.called(user, names) }

    private static func called(_ user: UserID, _ names: UserNames) -> String {
        guard let name = names.name(of: user).map({ HarmlessText.line($0, limit: 40) }), !name.isEmpty else {
            return user.name
        }
        return name
    }

    private mutating func take(_ entries: [ListEntry], _ hasMore: Bool) {
        list = entries
        hasMoreInList = hasMore
        // Until the user has chosen, the latest one is marked.
        if !hasChosen || !list.contains(where: { $0.conversation.id == marked }) {
            // What is open need not be in what the archive or the requests show.
            let isHere = folder == .inbox || list.contains { $0.conversation.id == talk?.id }
            marked = (isHere ? talk?.id : nil) ?? list.first?.conversation.id
        }
    }

    private mutating func take(_ timeline: TimelineState) {
        let rows = timeline.rows
        talk?.timeline = timeline
        makeBubbles()
        if let selected = talk?.selected, !rows.contains(where: { $0.id == selected }) {
            talk?.selected = nil
            if [.messages, .tapback, .voting, .deletion].contains(focus) { focus = .composer }
        }
        resumeReply()
        if let target = talk?.target {
            if rows.contains(where: { $0.id == target }) { arrive(at: target) }
        } else if !rows.isEmpty {
            begin()
        }
    }

    /// Once: shows the first unread message, and as much of what follows as there is room for.
    private mutating func begin() {
        guard let talk, !talk.hasBegun else { return }
        self.talk?.hasBegun = true
        guard let first = talk.timeline.firstUnread else { return }
        let place = layout(of: talk).beginning(with: first, height: timelineHeight)
        self.talk?.place = place
    }

    private mutating func take(_ receipts: [MessageID: MessageReceipts]) {
        talk?.receipts = receipts
        makeBubbles()
    }

    /// What could not be sent is in the composer again.
    private mutating func takeBack(_ draft: Draft) -> [ChatEffect] {
        let effects = talk?.takeBack(draft) ?? []
        resumeReply()
        return effects
    }

    /// The stored draft answers a message: it is named as soon as it is loaded, if it can still be answered.
    private mutating func resumeReply() {
        guard let talk, case .reply(let parent, nil, _) = talk.mode,
            let row = talk.rows.first(where: { $0.id == parent })
        else { return }
        // Where one may not write, what was written stays as it is.
        let canReply = [nil, writingRefusal].contains(refusal(of: .reply, row))
        let mode = canReply ? reply(to: row) : .message
        self.talk?.mode = mode
    }

    mutating func makeBubbles() {
        guard let talk else { return }
        self.talk?.bubbles = maker.bubbles(talk.rows, receipts: talk.receipts, tapped: talk.tapped, now: now)
    }

    // MARK: Keys

    mutating func handle(_ key: Key, at now: Timestamp) -> [ChatEffect] {
        self.now = now
        switch key {
        case .focusIn: isLookedAt = true
        case .focusOut:
            isLookedAt = false
            return turnAway() + afterwards()
        default:
            notice = nil
            return press(key) + afterwards()
        }
        return afterwards()
    }

    /// What follows from any change: more of the history where its end is near, and what was read.
    private mutating func afterwards() -> [ChatEffect] {
        guard let talk, isTalkShown else { return [] }
        if !talk.hasBegun, talk.rows.isEmpty, talk.timeline.hasMoreAfter, connection == .waiting {
            // What is unread is not in the copy, and cannot be had: better the newest than nothing.
            self.talk?.hasBegun = true
            return [.showNewest]
        }
        var effects: [ChatEffect] = []
        let view = layout(of: talk).view(from: talk.place, height: timelineHeight)
        let nearStart = view.bubbles.lowerBound < Self.reserve
        if nearStart, talk.timeline.hasMoreBefore, talk.askedBefore != talk.rows.first?.id || talk.rows.isEmpty {
            if !talk.rows.isEmpty {
                self.talk?.askedBefore = talk.rows.first?.id
                effects.append(.loadBefore)
            }
        }
        let nearEnd = view.bubbles.upperBound > talk.rows.count - Self.reserve
        if nearEnd, talk.timeline.hasMoreAfter, let last = talk.rows.last?.id, talk.askedAfter != last {
            self.talk?.askedAfter = last
            effects.append(.loadAfter)
        }
        return effects + reading(talk, view)
    }

    /// How many messages are loaded before they are looked at.
    private static let reserve = 10

    private mutating func reading(_ talk: OpenConversation, _ view: TimelineLayout.View) -> [ChatEffect] {
        guard isLookedAt, isTimelineShown, let entry = entry(of: talk.id), entry.conversation.isMember else {
            return []
        }
        let seen = talk.rows[view.bubbles].filter { $0.message.senderId != user }.map(\.message.seq).max() ?? 0
        guard seen > readSeq(of: talk, entry) else { return [] }
        self.talk?.markedRead = seen
        return [.markRead(seen)]
    }

    private func readSeq(of talk: OpenConversation, _ entry: ListEntry) -> Int64 {
        max(talk.markedRead, entry.conversation.readSeq)
    }

    /// How many messages the user has not seen yet.
    func unseen(in talk: OpenConversation) -> Int {
        guard let entry = entry(of: talk.id), entry.conversation.isMember else { return 0 }
        if talk.timeline.hasMoreAfter { return entry.conversation.unreadCount }
        let readSeq = readSeq(of: talk, entry)
        return talk.rows.count {
            $0.message.seq > readSeq && $0.message.senderId != user && $0.message.kind != .system
                && !$0.message.deletedForEveryone
        }
    }

    // MARK: Conversations

    func entry(of id: ConversationID) -> ListEntry? {
        if let talk, talk.id == id, let entry = talk.entry { return entry }
        return list.first { $0.conversation.id == id }
    }

    private mutating func openAtStart() -> [ChatEffect] {
        guard connection != .connecting, connection != .off, let id = conversationAtStart else { return [] }
        conversationAtStart = nil
        return talk == nil ? open(id) : []
    }

    /// - Parameter target: a message to show.
    mutating func open(_ id: ConversationID, at target: MessageID? = nil) -> [ChatEffect] {
        var effects: [ChatEffect] = []
        marked = id
        focus = .composer
        if talk?.id != id {
            effects += leave()
            talk = OpenConversation(id)
            talk?.target = target
            effects.append(.open(id))
            if let target { effects.append(.show(target)) }
        } else if let target {
            effects += show(target)
        }
        return effects
    }

    /// Keeps what was being written in the conversation.
    mutating func leave() -> [ChatEffect] { endTyping() + turnAway() }

    /// The draft, if it is not stored.
    mutating func keepDraft() -> [ChatEffect] { talk?.keep() ?? [] }

    /// The user goes on somewhere else, perhaps on another device.
    private mutating func turnAway() -> [ChatEffect] {
        guard let id = talk?.id else { return [] }
        return keepDraft() + [.putDraft(id)]
    }

    // MARK: Places

    mutating func show(_ id: MessageID) -> [ChatEffect] {
        talk?.target = id
        if talk?.rows.contains(where: { $0.id == id }) ?? false {
            arrive(at: id)
            return []
        }
        return [.show(id)]
    }

    private mutating func arrive(at id: MessageID) {
        guard let talk else { return }
        let place = layout(of: talk).centering(id, height: timelineHeight)
        self.talk?.place = place
        self.talk?.target = nil
        self.talk?.selected = id
        self.talk?.hasBegun = true
        focus = .messages
    }

    // MARK: Typing

    /// What is written has changed: the others are told, unless it is an edit.
    mutating func noteTyping() -> [ChatEffect] {
        guard let talk else { return [] }
        if case .edit = talk.mode { return [] }
        if talk.editor.isEmpty { return endTyping() }
        self.talk?.typingSince = now
        return [.typing(true)]
    }

    /// - Parameter seconds: that have to have passed.
    mutating func endTyping(after seconds: Int64 = 0) -> [ChatEffect] {
        guard let since = talk?.typingSince, now.milliseconds - since.milliseconds >= seconds * 1000 else { return [] }
        talk?.typingSince = nil
        return [.typing(false)]
    }

    func reply(to row: TimelineRow) -> OpenConversation.Mode {
        .reply(
            to: row.id, sender: row.message.senderId,
            preview: HarmlessText.line(row.message.previewText ?? "", limit: 50))
    }
}
