import Models

/// Who may do what in a group, or what of it changes, as the database and the bus have it.
///
/// Layout: 1 byte, two bits for each permission (`PermittedRoles`; 0: unchanged), from the lowest on: who may add members, who may
/// rename, who may write.
public struct GroupPermissions: Hashable, Sendable {
    /// The lowest bit of each.
    public enum Place {
        public static let addMembers: UInt8 = 0
        public static let rename: UInt8 = 2
        public static let write: UInt8 = 4
    }

    public var addMembers: PermittedRoles?
    public var rename: PermittedRoles?
    public var write: PermittedRoles?

    /// Every member may do everything that members may.
    public static let byDefault = GroupPermissions(addMembers: .members, rename: .members, write: .members)

    public init(addMembers: PermittedRoles? = nil, rename: PermittedRoles? = nil, write: PermittedRoles? = nil) {
        self.addMembers = addMembers
        self.rename = rename
        self.write = write
    }

    public init(number: UInt8) {
        addMembers = PermittedRoles(rawValue: number >> Place.addMembers & 3)
        rename = PermittedRoles(rawValue: number >> Place.rename & 3)
        write = PermittedRoles(rawValue: number >> Place.write & 3)
    }

    public var number: UInt8 {
        (addMembers?.rawValue ?? 0) << Place.addMembers | (rename?.rawValue ?? 0) << Place.rename
            | (write?.rawValue ?? 0) << Place.write
    }

    /// The bits of those that stay as they are.
    public var unchanged: UInt8 {
        (addMembers == nil ? 3 << Place.addMembers : 0) | (rename == nil ? 3 << Place.rename : 0)
            | (write == nil ? 3 << Place.write : 0)
    }
}
