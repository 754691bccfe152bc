import JSON
import Models
import Reactor
import ServiceKit
import Wire

@testable import ParleyClient

/// A client of the system. It sends requests, resumes from its cursors, and checks everything it receives.
@Reactor
final class Client {
    let user: UserID
    unowned let system: System
    var world: World { system.world }
    let token: String
    var unanswered = 0
    /// The user's choices, per conversation and in general. `isDeciding` means that a change is in flight.
    var decisions = Decisions()

    private var connection: ClientConnection?
    private(set) var cursors: [ConversationID: StreamCursor] = [:]
    private(set) var useq: Int64 = 0
    private(set) var statusVersions: [ConversationID: Int64] = [:]
    private(set) var delivered: [ConversationID: [String: Int64]] = [:]
    private(set) var read: [ConversationID: [String: Int64]] = [:]

    init(_ user: UserID, in system: System) {
        self.user = user
        self.system = system
        let expiry = Timestamp(milliseconds: 4_000_000_000_000)
        token = System.signer.token(for: Identity(user: user, device: nil, expiresAt: expiry))
        for conversation in system.conversations { cursors[conversation] = StreamCursor(after: 0) }
    }

    // MARK: Session

    var isConnected: Bool { connection != nil }

    func connect() {
        guard connection == nil else { return }
        guard let (node, gateway) = system.fanout() else {
            return world.after(.milliseconds(200)) { [weak self] in self?.connect() }
        }
        let connection = ClientConnection(self, node, gateway, world)
        world.note("\(user) connects to \(node.number): \(hello())")
        self.connection = connection
        connection.open(hello())
    }

    func disconnect() { connection?.abort() }

    func lost(_ connection: ClientConnection) {
        guard self.connection === connection else { return }
        world.note("\(user) lost its connection")
        self.connection = nil
        world.after(world.milliseconds(50...700)) { [weak self] in self?.connect() }
    }

    private func hello() -> String {
        let positions = cursors.map { "\"\($0.key)\":\($0.value.seq ?? 0)" }.joined(separator: ",")
        let versions = statusVersions.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return """
            {"type":"hello","token":"\(token)","cursors":{\(positions)},"useq":\(useq),"statusVersions":{\(versions)}}
            """
    }

    /// Reports everything as read, and again after each reconnect: what was sent to a dead fanout is lost.
    func readEverything() {
        readsEverything = true
        for conversation in system.conversations { say("read", conversation) }
    }

    private var readsEverything = false

    func say(_ kind: String, _ conversation: ConversationID) {
        guard let seq = cursors[conversation]?.seq, seq > 0, let connection else { return }
        if kind == "read" { willRead(seq, conversation) }
        connection.say("{\"type\":\"\(kind)\",\"conversationId\":\"\(conversation)\",\"seq\":\(seq)}")
    }

    // MARK: Events

    func receive(_ text: UnsafeRawBufferPointer) {
        world.note("\(user) hears \(String(decoding: text, as: UTF8.self).prefix(500))")
        do throws(JSONError) {
            let frame = try ServerFrame(text)
            switch frame.type {
            case "welcome": if readsEverything { readEverything() }
            case "change": if let change = frame.change { take(try ChangeState(document: change)) }
            case "private": take(try PrivateState(document: text))
            case "status": if let conversation = frame.conversation { try take(frame.status, in: conversation, text) }
            case "reload" where frame.conversation == nil: reload(try ReloadState(document: text))
            case "reset", "reload": world.violated("\(user) was told \(frame.type)")
            case "bye":
                let isRight = frame.code == "draining" || frame.code == "rateLimited"
                if !isRight { world.violated("\(user) was sent away: \(frame.reason ?? "")") }
            default: break
            }
        } catch {
            world.violated("\(user) cannot read a frame: \(error)")
        }
    }

    /// Takes the next change visible to this user. Each comes once.
    private func take(_ change: ChangeState) {
        guard let id = change.conversation, let ledger = system.ledger(id) else {
            return world.violated("\(user) was told of an unknown conversation")
        }
        switch cursors[id, default: StreamCursor(after: 0)].offer(change.seq) {
        case .deliver: break
        case .repeated, .hold: world.violated("\(user) was told change \(change.seq) again")
        case .gap(let after):
            let missing = (after + 1..<change.seq).filter { ledger.isVisible($0, to: user) }
            if !missing.isEmpty { world.violated("\(user) was told \(change.seq) without \(missing)") }
        }
        if let fault = system.fault(in: change, of: id, toldTo: user) {
            world.violated("\(user) was told change \(change.seq) \(fault)")
        }
        // A message that was refused before may still arrive late through a repetition.
        if readsEverything { say("read", id) }
    }

    /// Handles a gap in the private changes that is larger than what is kept.
    private func reload(_ reload: ReloadState) {
        system.privateReloads += 1
        if reload.useq - useq <= Tables.User.kept { world.violated("\(user) was told to reload without need") }
        useq = reload.useq
    }

    private func take(_ change: PrivateState) {
        if change.useq != useq + 1 { world.violated("\(user) was told private change \(change.useq) after \(useq)") }
        useq = change.useq
        guard let stored = system.database.tables.users[user]?.changes, useq <= stored.count else {
            return world.violated("\(user) was told private change \(useq), which there is not")
        }
        let cause = stored[Int(useq) - 1]
        let seq = cause.kind == .readMoved || cause.kind == .historyCleared ? cause.seq : nil
        let isRight =
            change.kind == cause.kind.name.description && change.conversation == cause.conversation
            && change.message == cause.message && (change.seq == seq || cause.kind == .markedUnread)
        if !isRight { world.violated("\(user) was told private change \(useq) as another one") }
    }

    private func take(
        _ status: StatusView, in conversation: ConversationID, _ text: UnsafeRawBufferPointer
    ) throws(JSONError) {
        let version = try StatusState(document: text).version
        // A new member gets updates from then on. A merged frame may repeat what is known.
        statusVersions[conversation] = max(statusVersions[conversation] ?? 0, version)
        merge(status.delivered, into: &delivered[conversation, default: [:]], "delivered")
        merge(status.read, into: &read[conversation, default: [:]], "read")
        for (name, seq) in status.read {
            let reader = Promises.Place(user: UserID(name)!, conversation: conversation)
            if seq > system.promises.openlyRead[reader] ?? 0 {
                world.violated("\(user) was told that \(name) has read \(seq), who does not want that")
            }
        }
    }

    private func merge(_ news: [String: Int64], into known: inout [String: Int64], _ what: String) {
        for (name, seq) in news {
            if seq < known[name] ?? 0 { world.violated("\(user) was told that \(name) has \(what) less than before") }
            known[name] = seq
        }
    }
}
