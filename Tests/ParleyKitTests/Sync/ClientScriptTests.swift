import Foundation
import Models
import ParleyStorage
import Testing

@testable import ParleySync

/// Recorded scripts, in `Tests/ClientScripts`: what happens to a client, and what it must store, send and ask. Every client
/// of Parley runs them, so that all synchronise alike. `Clients/web/tests/core/scripts` makes them.
@Suite struct ClientScriptTests {
    static let files: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }()

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("ClientScripts")

    @Test("there are scripts")
    func exist() { #expect(!Self.files.isEmpty) }

    @Test("what happens in a script is stored, sent and asked as it says", arguments: files)
    func script(file: String) throws {
        let script = try JSON(Data(contentsOf: Self.folder.appendingPathComponent(file)))
        // What a client may choose by chance must not matter.
        for seed in UInt64(1)...5 {
            var player = try ScriptPlayer(script["position"], seed: seed)
            for (index, step) in script["steps"].list.enumerated() {
                let (found, slept) = try player.play(step)
                #expect(found == step["expect"].text, "step \(index)")
                guard let bounds = step["within"].value as? [Int] else { continue }
                #expect(slept >= .milliseconds(bounds[0]) && slept <= .milliseconds(bounds[1]), "step \(index)")
            }
        }
    }
}

/// Plays one script.
private struct ScriptPlayer {
    private var sync: Synchronizer
    private var calls: [Int: SyncCall] = [:]
    private var now = Duration.zero
    private var lastPing = ""

    /// Stands for the id of the last ping, which clients choose as they like.
    private static let ping = "$ping"

    init(_ json: JSON, seed: UInt64) throws {
        var position = SyncPosition()
        position.userId = json["userId"].string.flatMap(UserID.init)
        position.logId = json["logId"].string.flatMap(UUIDBytes.init)
        position.useq = json["useq"].number
        position.syncCursor = json["syncCursor"].string
        position.isListComplete = json["isListComplete"].flag
        position.streams = json["streams"].list.map { stream in
            (
                id: stream["id"].conversation,
                stream: SyncPosition.Stream(
                    cursor: stream["cursor"].number!, statusVersion: stream["statusVersion"].number!,
                    deliveredSeq: stream["deliveredSeq"].number!)
            )
        }
        position.unknown = json["unknown"].list.map(\.conversation)
        sync = Synchronizer(from: position, seed: seed)
    }

    /// Returns what the client did, and for how long it slept before.
    mutating func play(_ step: JSON) throws -> (found: String, slept: Duration) {
        let before = now
        now = step["at"].number.map { .milliseconds($0) } ?? sync.wakeAt ?? .zero
        let done = sync.handle(try event(step["event"]), at: now)
        for (id, call) in done.requests { calls[id] = call }
        for case .ping(.some(let id)) in done.frames { lastPing = id }
        return (JSON(try described(done)).text, now - before)
    }

    // MARK: What happens

    private func event(_ json: JSON) throws -> SyncEvent {
        switch json["type"].string {
        case "start": .start
        case "stop": .stop
        case "token": .token(json["token"].string!)
        case "tokenFailed": .tokenFailed
        case "opened": .opened
        case "closed": .closed
        case "time": .time
        case "catchUp": .catchUp
        case "frame":
            .frame(
                try JSON(Data(json["frame"].text.replacingOccurrences(of: Self.ping, with: lastPing).utf8))
                    .decoded(FrameFromServer.self))
        case "response": try response(json)
        case "created": .created(json["conversation"].conversation)
        case "look": .look(json["conversation"].conversation, json["place"].place)
        case "lookAtMembers": .lookAtMembers(json["conversation"].conversation)
        case "lookAtRevisions":
            .lookAtRevisions(json["conversation"].conversation, try json["message"].decoded(MessageID.self))
        case "lookAtRequests": .lookAtRequests
        case "lookAgain": .lookAgain(json["conversation"].conversation)
        case "show": .show(json["users"].list.map { UserID($0.string!)! })
        case "compare": .compare(json["conversation"].conversation)
        case "differs":
            .differs(
                json["conversation"].conversation, json["range"].list[0].number!...json["range"].list[1].number!)
        default: throw ScriptError(description: "unknown event \(json.text)")
        }
    }

    private func response(_ json: JSON) throws -> SyncEvent {
        let id = Int(json["id"].number!)
        let failure = json["response"]["failure"]
        if failure.value is [String: Any] {
            guard failure["problem"].value is [String: Any] else { return .response(id, .failure(.lost)) }
            let problem = try failure["problem"].decoded(ProblemDetails.self)
            let retryAfter = failure["retryAfter"].number.map { Duration.milliseconds($0) }
            return .response(id, .failure(.refused(problem, retryAfter: retryAfter)))
        }
        // A call that was taken back has a response, too, of the same kind.
        guard let call = calls[id] else { throw ScriptError(description: "nothing was asked as \(id)") }
        return .response(id, try call.response(Data(json["response"]["body"].text.utf8)))
    }

    // MARK: What is done

    private func described(_ step: SyncStep) throws -> [String: Any] {
        var done: [String: Any] = [:]
        if !step.writes.isEmpty { done["writes"] = try step.writes.map(describe) }
        switch step.connection {
        case .open: done["connection"] = "open"
        case .close: done["connection"] = "close"
        case nil: break
        }
        if !step.frames.isEmpty { done["frames"] = try step.frames.map(describe) }
        if !step.requests.isEmpty { done["requests"] = step.requests.map(\.call.form.path) }
        switch step.token {
        case .any: done["token"] = "any"
        case .fresh: done["token"] = "fresh"
        case nil: break
        }
        if !step.notices.isEmpty { done["notices"] = step.notices.map(describe) }
        return done
    }

    private func describe(_ frame: FrameFromClient) throws -> Any {
        var json = try JSON(JSONEncoder().encode(frame)).value as? [String: Any] ?? [:]
        if case .ping = frame { json["id"] = Self.ping }
        return json
    }

    private func describe(_ write: SyncWrite) throws -> [Any] {
        switch write {
        case .session(let user, let log, let useq): ["session", user.name, log.description, useq]
        case .discardAll: ["discardAll"]
        case .settings(let settings): ["settings", settings.readReceipts, settings.presence]
        case .blocks(let users, let useq): ["blocks", users.map(\.name), useq ?? NSNull()]
        case .requests(let requests): ["requests", requests.map(\.conversation.id.description)]
        case .profiles(let profiles): ["profiles", profiles.map { [$0.userId.name, $0.version] as [Any] }]
        case .listComplete(let isComplete): ["listComplete", isComplete]
        case .syncCursor(let cursor): ["syncCursor", cursor]
        case .conversation(let head, let follows): ["conversation", head.id.description, head.lastSeq, follows]
        case .discard(let id): ["discard", id.description]
        case .change(let change, let moves): ["change", change.conversationId.description, change.seq, moves]
        case .passed(let id, let seq): ["passed", id.description, seq]
        case .history(let id, let page, let place):
            ["history", id.description, describe(place), page.messages.map(\.seq)]
        case .message(let message): ["message", message.id.description]
        case .status(let status): ["status", status.conversationId.description, status.statusVersion]
        case .members(let id, let members, let isFirst):
            ["members", id.description, members.map(\.userId.name), isFirst]
        case .settingsInConversation(let id, _): ["settingsInConversation", id.description]
        case .revisions(let id, let message, let revisions):
            ["revisions", id.description, message.description, revisions.map(\.text)]
        case .outdated(let id, let range):
            [
                "outdated", id?.description ?? NSNull(),
                range.upperBound == .max ? NSNull() : [range.lowerBound, range.upperBound],
            ]
        case .delivered(let id, let seq): ["delivered", id.description, seq]
        case .privateChange(let change): ["privateChange", change.useq, change.kind.name]
        case .privateStream(let useq): ["privateStream", useq ?? NSNull()]
        }
    }

    private func describe(_ place: HistoryPlace) -> Any {
        switch place {
        case .newest: "newest"
        case .before(let seq): ["before": seq]
        case .after(let seq): ["after": seq]
        case .around(let seq): ["around": seq]
        }
    }

    private func describe(_ notice: SyncNotice) -> [Any] {
        switch notice {
        case .connection(.suspended): ["connection", "suspended"]
        case .connection(let state): ["connection", "\(state)"]
        case .typing(let typing):
            ["typing", typing.conversationId.description, typing.userId.name, typing.active]
        case .presence(let presence): ["presence", presence.userId.name, presence.online]
        case .caughtUp: ["caughtUp"]
        case .digest(let id, let digest): ["digest", id.description, digest.lastSeq]
        }
    }
}

private struct ScriptError: Error, CustomStringConvertible {
    let description: String
}

/// A part of a script.
private struct JSON {
    let value: Any

    init(_ value: Any) { self.value = value }

    init(_ data: Data) throws { value = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) }

    subscript(name: String) -> JSON { JSON((value as? [String: Any])?[name] ?? NSNull()) }

    var list: [JSON] { (value as? [Any] ?? []).map { JSON($0) } }
    var string: String? { value as? String }
    var number: Int64? { (value as? NSNumber)?.int64Value }
    var flag: Bool { (value as? NSNumber)?.boolValue ?? false }
    var conversation: ConversationID { ConversationID(UUIDBytes(string!)!) }

    var place: HistoryPlace {
        if let seq = self["before"].number { return .before(seq) }
        if let seq = self["after"].number { return .after(seq) }
        if let seq = self["around"].number { return .around(seq) }
        return .newest
    }

    /// The same for equal values.
    var text: String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: value, options: options) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}
