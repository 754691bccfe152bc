import Models
import Testing

@testable import ParleyStorage

/// What people are called, in a copy.
@Suite struct ProfileTests {
    private func ben(_ version: Int64, _ name: String? = nil) -> Profile {
        Profile(userId: ParleyKitTests.ben, version: version, displayName: name)
    }

    @Test("the latest version stays, with all that is in it; one that is not to be read any more goes")
    func versions() throws {
        let store = try copy()
        var whole = ben(3, "Ben")
        whole.avatarUrl = "https://pictures.example/ben.png"
        whole.extra = ["n": .integer(9_007_199_254_740_993), "list": .array([.null, .number(1.5)])]
        try store.apply([.profiles([whole])])
        #expect(try store.profile(of: ParleyKitTests.ben) == whole)
        try store.apply([.profiles([ben(2, "Benjamin")])])
        #expect(try store.profile(of: ParleyKitTests.ben) == whole)
        #expect(try store.profileVersions(of: [anna, ParleyKitTests.ben]) == [0, 3])
        try store.apply([.profiles([ben(4)])])
        #expect(try store.profile(of: ParleyKitTests.ben) == ben(4))
        try store.apply([.profiles([ben(0)])])
        #expect(try store.profile(of: ParleyKitTests.ben) == nil)
    }

    @Test("who has no name is called by their id")
    func names() throws {
        let store = try copy()
        try store.apply([.profiles([ben(3, "Ben"), Profile(userId: anna, version: 1)])])
        let names = try store.userNames()
        #expect([names[ParleyKitTests.ben], names[anna]] == ["Ben", "anna"])
        #expect(names.name(of: anna) == nil)
    }

    @Test("a copy that is discarded has no names, and one with thousands begins anew with the next session")
    func bounds() throws {
        let store = try copy()
        let session = SyncWrite.session(userId: anna, logId: UUIDBytes(high: 9, low: 9), useq: 0)
        let many = (1...LocalStore.mostProfiles).map {
            Profile(userId: UserID("user-\($0)")!, version: 1, displayName: "\($0)")
        }
        try store.apply([.profiles(many), session])
        #expect(try store.userNames().name(of: many[0].userId) == "1")
        try store.apply([.profiles([ben(1, "Ben")]), session])
        #expect(try store.userNames() == UserNames())
        try store.apply([.profiles([ben(1, "Ben")]), .discardAll])
        #expect(try store.userNames() == UserNames())
    }
}
