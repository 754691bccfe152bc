/// The version of a conversation's receipts that the sessions here have.
///
/// Every status frame raises the version by one and has only what moved with it. Missed receipts are fetched merged, as
/// one frame up to the latest version, so early frames are not kept.
struct StatusStream {
    enum Announcement: Equatable { case next, early, old }

    private enum Repair { case none, planned, asked }

    private(set) var version: Int64
    private var known: Int64
    private var repair = Repair.none

    init(version: Int64) {
        self.version = version
        known = version
    }

    mutating func announce(_ version: Int64) -> Announcement {
        guard version > self.version else { return .old }
        known = max(known, version)
        guard version == self.version + 1 else { return .early }
        self.version = version
        return .next
    }

    mutating func learn(_ version: Int64) { known = max(known, version) }

    /// Returns true once when something is missing: call `beginRepair` after a while.
    mutating func planRepair() -> Bool {
        guard known > version, repair == .none else { return false }
        repair = .planned
        return true
    }

    /// Begins the planned repair. Returns the version after which to query; nil when nothing is missing any more.
    mutating func beginRepair() -> Int64? {
        guard repair == .planned else { return nil }
        repair = known > version ? .asked : .none
        return repair == .asked ? version : nil
    }

    /// Ends a repair with the merged frame up to `version`, or without one. Returns whether to deliver it.
    mutating func endRepair(_ version: Int64?) -> Bool {
        repair = .none
        guard let version, version > self.version else { return false }
        self.version = version
        known = max(known, version)
        return true
    }
}
