import Foundation
import Models
import ParleyStorage
import ParleySync

/// A user's conversations on this device: a copy that is kept equal to the server's, and everything that the user can do.
///
/// What is shown comes from the copy, so nothing waits for the network. What the user does is stored when a function
/// returns; it shows at once, is sent when the server can be reached, and is undone if the server refuses it.
public final class Parley: Sendable {
    let engine: Engine
    let hub: Hub
    let observation: ObservationContext
    private let reader: LocalDatabase
    private let path: String

    // MARK: Opening and closing

    /// Opens the copy, or creates it. It does not connect.
    ///
    /// Throws if the database cannot be opened, such as when the disk is full. A damaged one is no reason: it is set
    /// aside, what was not sent yet is taken over, and `problems` tells of it.
    public static func open(_ configuration: Configuration) async throws(ParleyError) -> Parley {
        do {
            try FileManager.default.createDirectory(at: configuration.directory, withIntermediateDirectories: true)
        } catch {
            let reason = "the folder of the database cannot be made: \(error)"
            throw .storage(StorageError(reason: .readOnly, description: reason))
        }
        return try await open(
            path: configuration.databasePath, server: WebServer(configuration.transport), clock: SystemClock(),
            fileBytes: configuration.fileBytes, token: configuration.token)
    }

    /// - Parameter server: tests have one in memory.
    package static func open(
        path: String, server: any Server, clock: any EngineClock, seed: UInt64 = .random(in: 0 ... .max),
        fileBytes: Int64 = 1 << 30, token: @escaping @Sendable () async throws -> String
    ) async throws(ParleyError) -> Parley {
        do throws(StorageError) {
            return try Parley(
                path: path, server: server, clock: clock, seed: seed, fileBytes: fileBytes, token: token)
        } catch {
            throw .storage(error)
        }
    }

    private init(
        path: String, server: any Server, clock: any EngineClock, seed: UInt64, fileBytes: Int64,
        token: @escaping @Sendable () async throws -> String
    ) throws(StorageError) {
        self.path = path
        hub = Hub()
        engine = try Engine(
            path: path, server: server, clock: clock, hub: hub, seed: seed, fileBytes: fileBytes, token: token)
        // A connection of its own: what is shown does not wait for what is being stored.
        reader = try LocalDatabase(path: path)
        observation = ObservationContext(reader: reader, engine: engine, hub: hub, clock: clock)
    }

    deinit { Task { [engine] in await engine.close() } }

    /// Connects to the server, and stays connected: a connection that is lost is made again by itself. Called again, it
    /// tries at once, such as when the application comes to the front or the network is back.
    public func connect() async {
        await engine.connect()
        await engine.sweepFiles()
    }

    /// Leaves the server. The copy can be used as before; what is written waits.
    public func disconnect() async { await engine.disconnect() }

    /// Brings the copy up to date once and sends what waits, without a lasting connection: for the time that the system
    /// gives an application in the background. Cancelling the task ends it.
    public func catchUp() async { await engine.catchUp() }

    /// Ends everything. Nothing is lost: what waits is sent when it is opened again.
    public func close() async {
        await engine.close()
        await reader.close()
    }

    /// Ends everything, and removes the copy from the device, with what was not sent.
    public func signOut() async throws {
        await close()
        try LocalStore.erase(path: path)
    }

    /// Another process that uses the same database, such as an extension of the application, says that it has written.
    public func databaseChanged() async { await engine.lookAgain() }

    // MARK: Conversations

    /// The conversations, without those in the archive: the pinned ones first, then those with the latest activity.
    public func conversations(
        in folder: ConversationFolder = .inbox, limit: Int = 50
    ) -> ConversationList {
        ConversationList(folder, limit: limit, observation)
    }

    /// One conversation. It need not be in the copy yet.
    public func conversation(_ id: ConversationID) -> Talk { Talk(id: id, parley: self) }

    /// Creates a group, which others see when the server has it. Messages can be sent at once.
    public func createGroup(with members: [UserID], title: String? = nil) async throws(ParleyError) -> Talk {
        conversation(try await engine.createGroup(members: members, title: title))
    }

    /// The conversation of two with a user. If it is not in the copy, the server is asked for it: its id is the server's to
    /// tell.
    public func direct(with user: UserID) async throws(ParleyError) -> Talk {
        conversation(try await engine.direct(with: user))
    }

    // MARK: Invitations

    /// What an invitation's code tells before one joins. It is refused (404) where the code opens nothing to this user: say that
    /// the link does not work, and not why.
    public func invitation(_ code: String) async throws(ParleyError) -> InvitationPreview {
        try await engine.ask(.invitation(code))
    }

    /// Joins the group of an invitation, or asks to where its owners and admins decide; a member just gets the group. Repeat it
    /// after `ParleyError.unreachable`.
    public func join(by code: String) async throws(ParleyError) -> Joining {
        let (id, since) = try await engine.join(by: code)
        return since.map { .asked(id, since: $0) } ?? .joined(conversation(id))
    }

    /// Takes back what the user asks: to join this group.
    public func withdrawRequest(toJoin id: ConversationID) async throws(ParleyError) {
        guard let user = await userId else { throw .unreachable }
        try await engine.declineJoinRequest(of: user, in: id)
    }

    /// Groups that somebody has just asked to join, by an invitation of the user: `Talk.joinRequests()` has them.
    public var joinRequested: Updates<[ConversationID]> {
        Updates { [observation] in
            let signal = observation.hub.signal { topic in if case .joinRequests = topic { true } else { false } }
            let observer = Observer<[ConversationID]>(signal: signal, in: observation) { _, topics in
                let groups = topics.compactMap { topic in if case .joinRequests(let id) = topic { id } else { nil } }
                return groups.isEmpty ? nil : groups
            }
            return { await observer.next() }
        }
    }

    /// What the user has scheduled in all conversations, the earliest first, with what could not be sent: asked of the server.
    public func scheduledMessages() async throws(ParleyError) -> [ScheduledMessage] {
        try await engine.scheduled(in: nil)
    }

    /// Conversations in which what the user has scheduled has changed, on whatever device, or was sent: `scheduledMessages()`, of this
    /// or a `Talk`, has it.
    public var scheduledChanged: Updates<[ConversationID]> {
        Updates { [observation] in
            let signal = observation.hub.signal { topic in if case .scheduled = topic { true } else { false } }
            let observer = Observer<[ConversationID]>(signal: signal, in: observation) { _, topics in
                let changed = topics.compactMap { topic in if case .scheduled(let id) = topic { id } else { nil } }
                return changed.isEmpty ? nil : changed
            }
            return { await observer.next() }
        }
    }

    // MARK: Requests

    /// The conversations that people whom the user does not know brought them into, and that the user has not decided about, the
    /// latest first. Whoever shows them asks the server, as it does not tell of each one. `Talk` reads one, and accepts or
    /// declines it.
    public var requests: Updates<[RequestRow]> { RequestRow.updates(observation) }

    /// How many there are, as far as the server has told.
    public var requestCount: Updates<Int> { RequestRow.count(observation) }

    // MARK: The user

    /// Whose copy this is; nil before the first connection.
    public var userId: UserID? {
        get async { try? await reader.read { store throws(StorageError) in try store.userId() } }
    }

    /// The user's settings; nil until the server has told them.
    public var settings: Updates<Settings?> {
        observation.updates(of: { $0 == .settings(nil) }) { [reader] in
            try await reader.read { store throws(StorageError) in try store.settings() }
        }
    }

    /// Whether messages with files may be replied to, as far as the server has told.
    public var repliesToAttachments: Bool {
        get async {
            (try? await reader.read { store throws(StorageError) in try store.repliesToAttachments() }) ?? false
        }
    }

    /// Changes settings. What is nil stays as it is.
    public func set(readReceipts: Bool? = nil, presence: Bool? = nil) async throws(ParleyError) {
        let new = RequestBody.NewSettings(readReceipts: readReceipts.map(\.choice), presence: presence.map(\.choice))
        try await engine.write(.settings(new), in: nil)
    }

    // MARK: Devices

    /// Where the user has begun sessions, asked of the server: the devices that their tokens name (claim `dev`), the one seen last
    /// first.
    public func devices() async throws(ParleyError) -> [Device] { try await engine.ask(.devices).devices }

    /// Ends a device: its tokens that were issued up to now are refused. This one can be ended, too.
    public func endDevice(_ name: String) async throws(ParleyError) { try await engine.endDevice(name) }

    /// Ends all devices but this one. It is refused (409) where the token names no device.
    public func endOtherDevices() async throws(ParleyError) { try await engine.endOtherDevices() }

    // MARK: Blocking

    /// Blocks a user, on all of one's devices. They cannot reach the user any more, and learn of it by nothing. In groups
    /// nothing of what they write, set or do is shown; the conversation of two ends for the user.
    public func block(_ user: UserID) async throws(ParleyError) { try await engine.block(user, true) }

    /// Ends a block: what is hidden in groups is shown at once. What was sent meanwhile to the user alone never came.
    public func unblock(_ user: UserID) async throws(ParleyError) { try await engine.block(user, false) }

    /// Whom the user has blocked, in the order of their names' bytes.
    public var blockedUsers: Updates<[UserID]> {
        observation.updates(of: { _ in false }) { [observation] in
            let users = try await observation.reader.read { store throws(StorageError) in try store.blockedUsers() }
            await observation.show(users)
            return users
        }
    }

    // MARK: What people are called

    /// The names of people, as far as the copy knows them: of the user, and of those whom lists, timelines, members and
    /// searches have shown. It asks for them again when the server says that they have changed, with each session, and after some
    /// minutes. No row changes with a name.
    public var names: Updates<UserNames> {
        observation.updates(of: { $0 == .profiles }) { [observation] in
            let (own, names) = try await observation.reader.read { store throws(StorageError) in
                (try store.userId(), try store.userNames())
            }
            await observation.show([own])
            return names
        }
    }

    /// The profile of somebody; nil if there is none that the user may read. Whoever loads the picture tells its host.
    public func profile(of user: UserID) -> Updates<Profile?> {
        observation.updates(of: { $0 == .profiles }) { [observation] in
            await observation.show([user])
            return try await observation.reader.read { store throws(StorageError) in try store.profile(of: user) }
        }
    }

    /// Says that people are on the screen whom no state of the client has shown, such as those far down in a list of members.
    public func show(_ users: [UserID]) async { await observation.show(users) }

    /// Replaces the user's profile: what is nil is there no more. It has to ask the server, which says what may be in it.
    public func setProfile(
        displayName: String?, avatarUrl: String? = nil, extra: [String: JSONValue]? = nil
    ) async throws(ParleyError) {
        try await engine.setProfile(.init(displayName: displayName, avatarUrl: avatarUrl, extra: extra))
    }

    /// Changes what the user is called; nil: nothing. The rest of the profile is read before and stays, with numbers in
    /// `extra` as `JSONValue` holds them.
    public func setDisplayName(_ name: String?) async throws(ParleyError) { try await engine.setDisplayName(name) }

    // MARK: What happens

    /// Whether the server can be heard.
    public var connection: Updates<ConnectionState> {
        observation.updates(of: { $0 == .connection }) { [hub] in hub.read { $0.connection } }
    }

    /// Who is online, of those who share it. Not who is blocked.
    public var presence: Updates<[UserID: Presence]> {
        observation.updates(of: { $0 == .presence }) { [hub, reader] in
            let blocked = Set(try await reader.read { store throws(StorageError) in try store.blockedUsers() })
            return hub.read { $0.presence.filter { !blocked.contains($0.key) } }
        }
    }

    /// What is unread, for the badge of the application: in all conversations that are neither muted nor archived.
    public var unread: Updates<UnreadTotal> { UnreadTotal.updates(observation) }

    /// How many writes are not carried out yet: they wait, are on their way, or were refused and are still to be told of.
    public var pendingWrites: Updates<Int> {
        observation.updates(of: \.isOfOutbox) { [reader] in
            try await reader.read { store throws(StorageError) in try store.outboxCount() }
        }
    }

    /// Writes that the server refused and that were undone, one after the other, each told once. For one loop.
    public var refusedWrites: Updates<RefusedWrite> {
        Updates { [observation] in
            let signal = observation.hub.signal { $0 == .refusals }
            let observer = Observer<RefusedWrite>(signal: signal, in: observation) { _, _ in
                guard let refused = try await observation.engine.takeRefusal() else { return nil }
                return RefusedWrite(refused)
            }
            return { await observer.next() }
        }
    }

    /// What went wrong without a caller who could be told, one after the other. For one loop.
    public var problems: Updates<ParleyProblem> {
        Updates { [observation] in
            let signal = observation.hub.signal { $0 == .problems }
            let observer = Observer<ParleyProblem>(signal: signal, in: observation) { _, _ in
                guard let problem = observation.hub.takeProblem() else { return nil }
                signal.raise([.view])
                return problem
            }
            return { await observer.next() }
        }
    }

    // MARK: Searching

    /// Searches for messages that have all these words; the last one may be the beginning of a word. First come those of
    /// the copy, then, if the server can be reached, those of the whole history.
    public func search(_ words: String, in conversation: ConversationID? = nil, limit: Int = 50) -> Updates<
        SearchUpdate
    > {
        SearchUpdate.updates(words, conversation, limit, observation)
    }
}

extension Bool {
    var choice: RequestBody.SettingChoice { self ? .on : .off }
}

extension RefusedWrite {
    init?(_ row: OutboxRow) {
        guard let problem = row.problem, let action = Action(row.write) else { return nil }
        self.init(action: action, conversation: row.conversation, message: row.message, problem: problem, at: row.at)
    }
}

extension RefusedWrite.Action {
    fileprivate init?(_ write: PendingWrite) {
        switch write {
        case .edit: self = .edit
        case .deleteForMe: self = .deleteForMe
        case .deleteForEveryone: self = .deleteForEveryone
        case .setTapback, .removeTapback: self = .react
        case .pinMessage: self = .pinMessage
        case .vote: self = .vote
        case .closePoll: self = .closePoll
        case .clearHistory: self = .clearHistory
        case .rename: self = .rename
        case .putMember(let user, let role): self = role == nil ? .addMember(user) : .changeRole(user)
        case .removeMember(let user): self = .removeMember(user)
        case .permissions: self = .changePermissions
        case .lifetime: self = .changeLifetime
        case .liftBan(let user): self = .liftBan(user)
        case .createGroup: self = .createGroup
        case .removeFromList: self = .removeFromList
        case .settings, .settingsInConversation: self = .settings
        case .mark: self = .mark
        case .block(let user, let isBlocked, _): self = isBlocked ? .block(user) : .unblock(user)
        case .accept: self = .accept
        case .decline: self = .decline
        case .send, .forward, .read, .draft: return nil
        }
    }
}
