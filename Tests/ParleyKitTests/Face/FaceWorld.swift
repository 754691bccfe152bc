import Foundation
import Models
import ParleyKitTesting
import ParleyStorage
import ParleySync
import Synchronization
import Testing

@testable import ParleyKit

/// Time that runs faster, so that pauses of seconds take no time. What is waited for comes in the same order.
struct FastClock: EngineClock {
    private let start = ContinuousClock.now
    private let factor: Int

    init(factor: Int = 50) { self.factor = factor }

    var now: Duration { (ContinuousClock.now - start) * factor }
    var timestamp: Timestamp { Timestamp(milliseconds: 1_800_000_000_000 + now.components.seconds * 1000) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration / factor) }
}

/// A server in memory with a group of anna and ben, and clients of it.
final class FaceWorld: Sendable {
    let network = ScriptedNetwork()
    let folder: TemporaryFolder
    let group = ConversationID(UUIDBytes(high: 7, low: 7))
    /// How often a token was asked for.
    let tokens = Mutex(0)

    init() throws {
        folder = try TemporaryFolder()
        network.withServer { [group] in $0.createGroup(group, by: ben, with: [anna], title: "Sunday") }
    }

    func open(
        _ user: UserID = anna, file: String? = nil, clock: any EngineClock = FastClock(),
        fileBytes: Int64 = 1_000_000_000, token: (@Sendable () async throws -> String)? = nil
    ) async throws -> Parley {
        try await Parley.open(
            path: folder.file(file ?? "\(user).db"), server: network.server(for: user), clock: clock, seed: 1,
            fileBytes: fileBytes,
            token: token ?? {
                self.tokens.withLock {
                    $0 += 1; return "token-\($0)"
                }
            })
    }

    /// A client that is online.
    func connected(_ user: UserID = anna, file: String? = nil) async throws -> Parley {
        let parley = try await open(user, file: file)
        await parley.connect()
        await online(parley)
        return parley
    }

    func online(_ parley: Parley) async {
        for await state in parley.connection where state == .online { break }
    }

    /// Somebody writes.
    func write(_ text: String, by user: UserID = ben, _ number: UInt64) {
        carryOut(send(text), by: user, number)
    }

    /// Somebody does something on another device.
    func carryOut(_ write: PendingWrite, by user: UserID, _ number: UInt64 = 1) {
        network.withServer { [group] server in
            _ = server.carryOut(
                .single(
                    OutboxRow(
                        key: 1, conversation: group, message: messageId(number), write: write,
                        idempotencyKey: key(number), at: time(1))), by: user)
        }
    }

    /// The texts that the server has, in order.
    var texts: [String?] {
        network.withServer { [group] in $0.messages(of: group, for: ben).filter { $0.kind != .system }.map(\.text) }
    }
}

/// A token that says whose it is, as those of the contract do. Nobody looks at its signature here.
func signedToken(of user: UserID) -> String {
    let payload = Data("{\"exp\":1,\"sub\":\"\(user)\",\"note\":\"ÿþ?>\"}".utf8).base64EncodedString()
    let form = payload.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    return "e30." + form.replacingOccurrences(of: "=", with: "") + ".AA"
}

/// Updates from now on, for what tells of events: whoever asks for the first one later misses none.
func begun<Element: Sendable>(_ updates: Updates<Element>) -> Updates<Element> {
    let step = updates.observe()
    return Updates { step }
}

/// Waits for a state, for at most half a minute: much longer than needed, since the machine may be busy.
func first<Element: Sendable>(
    _ updates: some AsyncSequence<Element, Never> & Sendable, where isIt: @escaping @Sendable (Element) -> Bool
) async -> Element? {
    await withTaskGroup(of: Element?.self) { group in
        group.addTask {
            for await update in updates where isIt(update) { return update }
            return nil
        }
        group.addTask {
            try? await Task.sleep(for: .seconds(30))
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}

func soon(_ condition: @Sendable () async -> Bool) async -> Bool {
    for _ in 0..<3_000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}

extension TimelineUpdate {
    var texts: [String?] { rows.filter { $0.message.kind != .system }.map(\.message.text) }
    var areAllStored: Bool { rows.allSatisfy { $0.state == .stored } }
}
