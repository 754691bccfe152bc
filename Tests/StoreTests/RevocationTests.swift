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
        of slot: Slot, after: Int64, in store: StoreUnderTest
    ) async throws -> (end: Int64, [Revocation]) {
        let reply = try #require(
            await store.ask(.revocations, in: slot, fields: { RevocationsQuery(slot, after: after).write(to: &$0) }))
        return try reply.payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let end: Int64 = try reader.position()
            var revocations: [Revocation] = []
            while !reader.isAtEnd { revocations.append(try Revocation(from: &reader)) }
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
}
