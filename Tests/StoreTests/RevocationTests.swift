import Bytes
import Models
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.timeLimit(.minutes(1)))
struct RevocationTests {
    init() { ReactorThread.start() }

    private let bob = UserID("bob")!

    private func moment(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

    @Reactor private func revoke(
        _ user: UserID, before: Timestamp, in store: StoreUnderTest
    ) async throws -> Revocation {
        let reply = try #require(
            await store.ask(.revokeTokens, in: user.slot, fields: { RevokeTokens(user, before: before).write(to: &$0) })
        )
        #expect(reply.status == 200)
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try Revocation(from: &reader)
        }
    }

    /// Returns the end of the numbers, and the revocations after `after`.
    @Reactor private func revocations(
        of slot: Slot, after: Int64, knowsDevices: Bool = true, in store: StoreUnderTest
    ) async throws -> (end: Int64, [Revocation]) {
        let query = RevocationsQuery(slot, after: after, knowsDevices: knowsDevices)
        let reply = try #require(await store.ask(.revocations, in: slot) { query.write(to: &$0) })
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let end: Int64 = try reader.position()
            var revocations: [Revocation] = []
            while !reader.isAtEnd {
                if case .tokens(let revocation) = try ListedRevocation(from: &reader) { revocations.append(revocation) }
            }
            return (end, revocations)
        }
    }

    /// Another user of the same slot.
    private var neighbour: UserID {
        (0...).lazy.compactMap { UserID("user-\($0)") }.first { $0.slot == bob.slot }!
    }

    @Test("the moment of a user only moves forward, and each movement takes the slot's next number")
    @Reactor func numbers() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        for (user, before, expected) in [
            (bob, moment(50), Revocation(number: 1, bob, before: moment(50))),
            (neighbour, moment(60), Revocation(number: 2, neighbour, before: moment(60))),
            (bob, moment(40), Revocation(number: 1, bob, before: moment(50))),
            (bob, moment(50), Revocation(number: 1, bob, before: moment(50))),
            (bob, moment(70), Revocation(number: 3, bob, before: moment(70))),
        ] {
            #expect(try await revoke(user, before: before, in: store) == expected)
        }
        let all = try await revocations(of: bob.slot, after: 0, in: store)
        #expect(all.end == 3)
        #expect(
            all.1 == [
                Revocation(number: 2, neighbour, before: moment(60)), Revocation(number: 3, bob, before: moment(70)),
            ])
        let rest = try await revocations(of: bob.slot, after: 3, in: store)
        #expect(rest.end == 3 && rest.1.isEmpty)
        try await store.crash()
        #expect(try await revocations(of: bob.slot, after: 2, in: store).1.map(\.user) == [bob])
    }

    @Test("many at once, also of one user, get numbers that are all different")
    @Reactor func concurrent() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let users = [bob, neighbour]
        try await withThrowingTaskGroup(of: Revocation.self) { group in
            for number in 0..<20 {
                group.addTask { try await revoke(users[number % 2], before: moment(Int64(number)), in: store) }
            }
            for try await _ in group {}
        }
        let (end, found) = try await revocations(of: bob.slot, after: 0, in: store)
        #expect(Set(found.map(\.before)) == [moment(18), moment(19)])
        #expect(found.map(\.number).max() == end && end <= 20)
    }

    // MARK: Devices

    @Reactor private func end(
        _ scope: DeviceScope, before: Timestamp, in store: StoreUnderTest
    ) async throws -> Revocation? {
        let reply = try #require(
            await store.ask(.endDevices, in: bob.slot) { EndDevices(bob, scope, before: before).write(to: &$0) })
        guard reply.status == 200 else { return nil }
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try Revocation(from: &reader)
        }
    }

    @Test("those of devices are numbered with those of users, and one of all others includes those of single ones")
    @Reactor func devices() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let phone = DeviceID("phone")!, tablet = DeviceID("tablet")!
        _ = try await revoke(neighbour, before: moment(10), in: store)
        #expect(
            try await end(.only(tablet), before: moment(20), in: store)
                == Revocation(number: 2, bob, before: moment(20), .only(tablet)))
        #expect(try await end(.only(tablet), before: moment(15), in: store)?.before == moment(20))
        #expect(try await end(.only(phone), before: moment(30), in: store)?.number == 3)
        #expect(try await revoke(bob, before: moment(5), in: store).number == 4)
        #expect(try await end(.allBut(phone), before: moment(40), in: store)?.number == 5)
        let (last, found) = try await revocations(of: bob.slot, after: 1, in: store)
        #expect(last == 5)
        #expect(
            found == [
                Revocation(number: 3, bob, before: moment(30), .only(phone)),
                Revocation(number: 4, bob, before: moment(5)),
                Revocation(number: 5, bob, before: moment(40), .allBut(phone)),
            ])
    }

    @Test("what was ended stays so when another device ends all others, which always works and leaves two rows")
    @Reactor func allOthersInTurn() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let phone = DeviceID("phone")!, tablet = DeviceID("tablet")!
        for number in 0..<ContractLimits.devicesPerUser {
            _ = try #require(try await end(.only(DeviceID("device-\(number)")!), before: moment(1), in: store))
        }
        #expect(try await end(.only(phone), before: moment(1), in: store) == nil)
        let last = try #require(try await end(.allBut(phone), before: moment(10), in: store)).number
        #expect(try await end(.allBut(tablet), before: moment(20), in: store)?.number == last + 2)
        #expect(try await end(.allBut(tablet), before: moment(15), in: store)?.before == moment(20))
        #expect(
            try await revocations(of: bob.slot, after: 0, in: store).1 == [
                Revocation(number: last + 1, bob, before: moment(10), .only(tablet)),
                Revocation(number: last + 2, bob, before: moment(20), .allBut(tablet)),
            ])
        #expect(try await end(.allBut(phone), before: moment(30), in: store)?.number == last + 4)
        #expect(
            try await revocations(of: bob.slot, after: last + 2, in: store).1 == [
                Revocation(number: last + 3, bob, before: moment(20), .only(phone)),
                Revocation(number: last + 4, bob, before: moment(30), .allBut(phone)),
            ])
    }

    @Test("a process that does not know devices gets as many revocations, none of which applies to a token")
    @Reactor func before() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = try await end(.only(DeviceID("phone")!), before: moment(20), in: store)
        let (end, found) = try await revocations(of: bob.slot, after: 0, knowsDevices: false, in: store)
        #expect(end == 1 && found == [Revocation(number: 1, bob, before: moment(0))])
    }

    @Test("a user has the devices seen last, up to the limit, and a device that comes again and again is written once")
    @Reactor func list() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        func note(_ name: String) async {
            _ = await store.ask(.noteDevice, in: bob.slot) { NoteDevice(bob, DeviceID(name)!).write(to: &$0) }
        }
        await note("device-0")
        await Reactor.sleep(for: .milliseconds(2))  // Times are in milliseconds: the others are later.
        for number in 1...ContractLimits.devicesPerUser { await note("device-\(number)") }
        func rows(_ columns: String) throws -> [String] {
            try store.database.query("SELECT \(columns) FROM store.devices ORDER BY last_at, device").map { $0[0] }
        }
        let before = try rows("device || last_at || xmin")
        #expect(before.count == ContractLimits.devicesPerUser)
        #expect(try !rows("device").contains("device-0"))
        await note("device-7")
        #expect(try rows("device || last_at || xmin") == before)
        try store.database.execute("UPDATE store.devices SET last_at = last_at - interval '6 minutes'")
        await note("device-7")
        #expect(try rows("device").last == "device-7")
    }

    // MARK: Suspensions

    @Reactor private func suspend(
        _ user: UserID, _ mode: SuspensionMode?, until: Timestamp? = nil, reason: String = "", in store: StoreUnderTest
    ) async throws -> HeldSuspension? {
        let command = SuspendUser(user, mode, until: until, reason: reason)
        let reply = try #require(await store.ask(.suspendUser, in: user.slot) { command.write(to: &$0) })
        guard reply.status == 200, !reply.payload.isEmpty else { return nil }
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try HeldSuspension(from: &reader)
        }
    }

    @Reactor private func listed(
        after: Int64, knowsSuspensions: Bool = true, in store: StoreUnderTest
    ) async throws -> (end: Int64, [ListedRevocation]) {
        let query = RevocationsQuery(bob.slot, after: after, knowsSuspensions: knowsSuspensions)
        let reply = try #require(await store.ask(.revocations, in: bob.slot) { query.write(to: &$0) })
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let end: Int64 = try reader.position()
            var all: [ListedRevocation] = []
            while !reader.isAtEnd { all.append(try ListedRevocation(from: &reader)) }
            return (end, all)
        }
    }

    @Reactor private func shown(of user: UserID, in store: StoreUnderTest) async throws -> (status: Int, text: String) {
        let reply = try #require(
            await store.ask(.suspension, in: user.slot) { SuspensionQuery(user).write(to: &$0) })
        return (Int(reply.status), String(decoding: reply.payload, as: UTF8.self))
    }

    private var distantFuture: Timestamp { Timestamp(milliseconds: 4_102_444_800_000) }

    @Test("suspensions are numbered with revocations, the last one of a user counts, and that it was lifted is one")
    @Reactor func suspensions() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        #expect(try await suspend(bob, nil, in: store) == nil)
        _ = try await revoke(neighbour, before: moment(50), in: store)
        let first = HeldSuspension(number: 2, bob, .readOnly, until: distantFuture)
        for _ in 0..<2 {
            #expect(try await suspend(bob, .readOnly, until: distantFuture, reason: "spam", in: store) == first)
        }
        let shown = try await shown(of: bob, in: store)
        #expect(shown.status == 200)
        #expect(
            shown.text.hasPrefix(#"{"mode":"readOnly","until":"2100-01-01T00:00:00.000Z","reason":"spam","since":"#))
        #expect(try await suspend(bob, .out, in: store) == HeldSuspension(number: 3, bob, .out))
        _ = try await end(.only(DeviceID("phone")!), before: moment(60), in: store)
        let lifted = try #require(try await suspend(bob, nil, in: store))
        #expect(lifted.number == 5 && lifted.mode == nil && lifted.until != nil)
        #expect(try await suspend(bob, nil, in: store) == lifted)
        #expect(try await self.shown(of: bob, in: store).status == 404)
        let (end, all) = try await listed(after: 0, in: store)
        #expect(end == 5 && all.map(\.number) == [1, 4, 5])
        #expect(all.last == .suspension(lifted))
        let (count, known) = try await listed(after: 0, knowsSuspensions: false, in: store)
        #expect(count == 5)
        #expect(known.last == .tokens(Revocation(number: 5, bob, before: Timestamp(milliseconds: 0))))
    }

    @Test("what has been over for long is removed with a later number, and what took the last number stays")
    @Reactor func removed() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = try await suspend(neighbour, .out, until: distantFuture, in: store)
        _ = try await suspend(bob, .out, in: store)
        _ = try await suspend(bob, nil, in: store)
        try store.database.execute("UPDATE store.suspensions SET until = until - interval '100 years'")
        // It changes nothing, and takes no number.
        _ = try await suspend(bob, nil, in: store)
        #expect(try await listed(after: 0, in: store).1.map(\.number) == [1, 3])
        #expect(try await shown(of: neighbour, in: store).status == 404)
        #expect(try await suspend(bob, .out, in: store) == HeldSuspension(number: 4, bob, .out))
        #expect(try await listed(after: 0, in: store).1 == [.suspension(HeldSuspension(number: 4, bob, .out))])
    }

    @Test("who is erased is not suspended any more, and no reason is kept")
    @Reactor func erased() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = try await suspend(bob, .out, reason: "spam", in: store)
        _ = await store.ask(.eraseUser, in: bob.slot) { EraseUser(bob).write(to: &$0) }
        await waitUntil {
            (try? store.database.query("SELECT FROM store.suspensions WHERE reason IS NOT NULL").isEmpty) == true
        }
        let reply = try #require(
            await store.ask(.suspendUser, in: bob.slot) { SuspendUser(bob, .readOnly, reason: "x").write(to: &$0) })
        #expect(reply.status == 409)
        #expect(try await suspend(bob, nil, in: store)?.mode == nil)
    }
}
