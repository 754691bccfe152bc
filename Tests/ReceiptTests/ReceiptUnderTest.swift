import Bus
import Bytes
import Glibc
import Models
import Postgres
import PostgresSupport
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Receipt
@testable import enum Receipt.Schema
@testable import Store

/// Receipt services with a real bus and their own database, and a client of them.
@Reactor
final class ReceiptUnderTest {
    let database: TestDatabase
    private(set) var services: [ReceiptService] = []
    private(set) var statuses: [(conversation: ConversationID, version: Int64, json: String)] = []
    private(set) var digests: [DigestEntry] = []
    /// The read positions sent to the store, and whether the store responds.
    private(set) var told: [ReadPositions.Entry] = []
    var respondsToReads = true
    var movesOn = true
    let client: Bus
    private var buses: [Bus] = []
    private let directory: String

    init(services count: Int = 1, window: Int = 100, layout: Layout = .plain) async throws {
        database = try TestDatabase(
            migratedBy: [Store.Schema.migrator, Schema.migrator], layout: layout)
        var template = Array("/tmp/parley-receipt-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template)!)
        client = try Bus(bind: "ipc://\(directory)/client.sock")
        for number in 0..<count { try start(number, window: window) }
        listen()
        try client.follow(try Endpoint.parse(list: "ipc://\(directory)/receipt-*.sock"))
        await waitUntil { services.map(\.slots.count).reduce(0, +) == Slot.count }
        await waitUntil { services.allSatisfy { $0.queries.connection.isUp && $0.completions.connection.isUp } }
    }

    private func start(_ number: Int, window: Int) throws {
        let bus = try Bus(bind: "ipc://\(directory)/receipt-\(number).sock")
        try bus.follow(try Endpoint.parse(list: "ipc://\(directory)/client.sock"))
        var environment = Environment([
            "PARLEY_DATABASE_URL": database.url, "PARLEY_RECEIPT_WINDOW_MS": "\(window)",
        ])
        let configuration = try ReceiptConfiguration(environment: &environment)
        let service = ReceiptService(configuration, bus: bus, log: Log(service: "receipt", level: .error))
        service.start()
        buses.append(bus)
        services.append(service)
    }

    private func listen() {
        for group in SlotGroup.all {
            client.subscribe(.status(group))
            client.subscribe(.receiptDigest(group))
            client.subscribe(.command(group))
        }
        client.onFrame = { [unowned self] frame in
            for bytes in frame.entries { receive(frame.topic, bytes, from: frame.origin) }
        }
    }

    private func receive(_ topic: Topic, _ bytes: UnsafeRawBufferPointer, from origin: Instance) {
        var reader = ByteReader(bytes)
        switch topic {
        case .status:
            guard let entry = try? StatusEntry(from: &reader) else { return }
            statuses.append((entry.conversation, entry.version, String(decoding: entry.json, as: UTF8.self)))
        case .receiptDigest:
            if let entry = try? DigestEntry(from: &reader) { digests.append(entry) }
        case .command:
            if respondsToReads, let entry = try? RequestEntry(bytes) { hear(entry, from: origin) }
        default: break
        }
    }

    /// Handles a request as a store would.
    private func hear(_ entry: RequestEntry, from origin: Instance) {
        let request = RequestKey(origin: origin, number: entry.number)
        guard entry.kind == StoreRequestKind.readMoved.rawValue, client.admit(request) == .new else { return }
        var reader = ByteReader(entry.fields)
        guard let positions = try? ReadPositions(from: &reader) else { return }
        told += positions.entries
        client.respond(to: request, status: 204)
    }

    /// Requests that the first service has accepted but not yet responded to.
    var requestsInFlight: Int { buses[0].inboundRequestsInFlight }

    /// Ends the services and removes everything.
    func close() async {
        for service in services {
            await service.finish()
            await service.slots.drain()
            service.closeConnections()
        }
        for bus in buses + [client] { bus.close() }
        rmdir(directory)
    }

    // MARK: Requests

    func signal(
        _ conversation: ConversationID, _ user: String, delivered: Int64 = 0, read: Int64 = 0
    ) async -> UInt16? {
        await ask(
            .signal, in: conversation.slot,
            ReceiptSignal(conversation, user: UserID(user)!, delivered: delivered, read: read))?.status
    }

    /// Returns the version and the frame's JSON.
    func status(_ conversation: ConversationID, after version: Int64) async -> (Int64, String)? {
        let response = await ask(.status, in: conversation.slot, StatusQuery(conversation, after: version))
        return response?.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let entry = try? StatusEntry(from: &reader) else { return nil }
            return (entry.version, String(decoding: entry.json, as: UTF8.self))
        }
    }

    /// Returns the held positions that are behind, with their current positions.
    func positions(_ held: [StreamPosition], in slot: Slot) async -> [StreamPosition]? {
        let response = await ask(.positions, in: slot, StreamPositions(held))
        return response?.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try? StreamPositions(from: &reader).positions
        }
    }

    func ask(
        _ kind: ReceiptRequestKind, in slot: Slot, _ fields: some WireCodable
    ) async -> (status: UInt16, payload: [UInt8])? {
        let outcome = await client.request(kind, in: slot, deadline: .seconds(60)) { fields.write(to: &$0) }
        guard case .response(let response) = outcome else { return nil }
        return (response.status, Array(response.payload.bytes))
    }

    // MARK: The database

    /// Creates a conversation of `members` with changes up to `lastSeq`, as the store writes it.
    func create(_ conversation: ConversationID, members: [String], lastSeq: Int64) throws {
        _ = try database.query(
            """
            INSERT INTO store.conversations VALUES ($1, $2, 1, NULL, 'ann', now(), $3, now(), $4)
            """
        ) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
            parameters.add(lastSeq)
            parameters.add(Int32(members.count))
        }
        for member in members { try join(conversation, member, from: 1, through: nil) }
    }

    /// Adds a stay of a user.
    func join(_ conversation: ConversationID, _ user: String, from: Int64, through: Int64?) throws {
        _ = try database.query(
            "INSERT INTO store.memberships VALUES ($1, $2, $3, $4, $5, 1)"
        ) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
            parameters.add(user)
            parameters.add(from)
            parameters.add(through)
        }
    }

    /// Ends a user's stay with its change, at the conversation's next position.
    func leave(_ conversation: ConversationID, _ user: String, at seq: Int64) throws {
        _ = try database.query(
            """
            WITH stay AS (
                UPDATE store.memberships SET left_seq = $4
                WHERE slot = $1 AND conversation_id = $2 AND user_id = $3 AND left_seq IS NULL
            ), change AS (
                INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role)
                VALUES ($1, $2, $4, 7, $3, now(), $3, 1)
            )
            UPDATE store.conversations SET last_seq = $4 WHERE slot = $1 AND id = $2
            """
        ) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
            parameters.add(user)
            parameters.add(seq)
        }
        // Times of receipts have milliseconds: what follows is to be later than this, as a store's next change would be.
        _ = try database.query("SELECT pg_sleep(0.002)")
    }

    /// Announces positions like a store that keeps writing messages, until `movesOn` is false.
    func tellMovements(of conversation: ConversationID) {
        Reactor.spawn { [self] in
            while movesOn {
                tellMovement(of: conversation)
                await Reactor.sleep(for: .milliseconds(20))
            }
        }
    }

    private func tellMovement(of conversation: ConversationID) {
        let slot = conversation.slot
        let digest = DigestEntry(
            slot: slot, epoch: 1, number: 1, moved: [StreamPosition(.conversation(conversation), 1)])
        client.append(to: .digest(slot.group)) { digest.write(to: &$0) }
    }

    /// Returns `delivered/read` of a user, or nil if nothing ever moved.
    func horizons(_ conversation: ConversationID, _ user: String) throws -> Horizons? {
        try database.query(
            "SELECT delivered_seq, read_seq FROM receipt.horizons WHERE conversation_id = $1 AND user_id = $2"
        ) { parameters in
            parameters.add(conversation)
            parameters.add(user)
        }.first.map { Horizons(delivered: $0[0], read: $0[1]) }
    }

    /// Adds a conversation to a user's list, with the read position sent to their devices.
    func list(_ conversation: ConversationID, of user: String, toldReadSeq: Int64) throws {
        let id = UserID(user)!
        _ = try database.query(
            """
            INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, told_read_seq) VALUES ($1, $2, $3, $4, $5)
            """
        ) { parameters in
            parameters.add(id.slot)
            parameters.add(id)
            parameters.add(conversation)
            parameters.add(conversation.slot)
            parameters.add(toldReadSeq)
        }
    }

    /// Returns the number of conversations noted as not fully announced.
    func noted() throws -> Int64 { try database.query("SELECT count(*) FROM receipt.untold")[0][0] }

    /// Returns the read position of a user that others see.
    func shown(_ conversation: ConversationID, _ user: String) throws -> Int64? {
        try database.query(
            "SELECT shown_seq FROM receipt.horizons WHERE conversation_id = $1 AND user_id = $2"
        ) { parameters in
            parameters.add(conversation)
            parameters.add(user)
        }.first.map { $0[0] }
    }

    /// Writes a setting as the store does. Without a conversation, it is the general setting.
    func sendReadReceipts(_ isOn: Bool, _ user: String, in conversation: ConversationID?) throws {
        let id = UserID(user)!
        if let conversation {
            _ = try database.query(
                """
                INSERT INTO store.conversation_settings (slot, conversation_id, user_id, read_receipts)
                VALUES ($1, $2, $3, $4)
                ON CONFLICT (conversation_id, user_id, slot) DO UPDATE SET read_receipts = excluded.read_receipts
                """
            ) { parameters in
                parameters.add(conversation.slot)
                parameters.add(conversation)
                parameters.add(id)
                parameters.add(isOn)
            }
        } else {
            _ = try database.query(
                """
                INSERT INTO store.user_settings (user_slot, user_id, read_receipts) VALUES ($1, $2, $3)
                ON CONFLICT (user_id, user_slot) DO UPDATE SET read_receipts = excluded.read_receipts
                """
            ) { parameters in
                parameters.add(id.slot)
                parameters.add(id)
                parameters.add(isOn)
            }
        }
    }

    /// Returns the runs of a user as `kind:from-to`, in order.
    func runs(_ conversation: ConversationID, _ user: String) throws -> [String] {
        try database.query(
            """
            SELECT format('%s:%s-%s', kind, from_seq, to_seq) FROM receipt.receipt_runs
            WHERE conversation_id = $1 AND user_id = $2 ORDER BY kind, from_seq
            """
        ) { parameters in
            parameters.add(conversation)
            parameters.add(user)
        }.map { $0[0] }
    }
}
