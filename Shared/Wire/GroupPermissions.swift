import Models

/// Who may do what in a group, or what of it changes, as the database and the bus have it.
///
/// Layout: 1 byte, two bits for each permission (`PermittedRoles`; 0: unchanged), from the lowest on: who may add members, who may
/// rename, who may write, who may mention everybody.
public struct GroupPermissions: Hashable, Sendable {
    /// The lowest bit of each.
    public enum Place {
        public static let addMembers: UInt8 = 0
        public static let rename: UInt8 = 2
        public static let write: UInt8 = 4
        public static let mentionAll: UInt8 = 6
    }

    public var addMembers: PermittedRoles?
    public var rename: PermittedRoles?
    public var write: PermittedRoles?
    /// In the database nil stands for admins, which was so before anybody could say anything else.
    public var mentionAll: PermittedRoles?

    /// Every member may do everything that members may.
    public static let byDefault = GroupPermissions(addMembers: .members, rename: .members, write: .members)

    public init(
        addMembers: PermittedRoles? = nil, rename: PermittedRoles? = nil, write: PermittedRoles? = nil,
        mentionAll: PermittedRoles? = nil
    ) {
        self.addMembers = addMembers
        self.rename = rename
        self.write = write
        self.mentionAll = mentionAll
    }

    public init(number: UInt8) {
        addMembers = PermittedRoles(rawValue: number >> Place.addMembers & 3)
        rename = PermittedRoles(rawValue: number >> Place.rename & 3)
        write = PermittedRoles(rawValue: number >> Place.write & 3)
        mentionAll = PermittedRoles(rawValue: number >> Place.mentionAll & 3)
    }

    public var number: UInt8 {
        (addMembers?.rawValue ?? 0) << Place.addMembers | (rename?.rawValue ?? 0) << Place.rename
            | (write?.rawValue ?? 0) << Place.write | (mentionAll?.rawValue ?? 0) << Place.mentionAll
    }

    /// As the database has them.
    public var stored: UInt8 {
        var permissions = self
        if mentionAll == .admins { permissions.mentionAll = nil }
        return permissions.number
    }

    /// The bits of those that stay as they are.
    public var unchanged: UInt8 {
        (addMembers == nil ? 3 << Place.addMembers : 0) | (rename == nil ? 3 << Place.rename : 0)
            | (write == nil ? 3 << Place.write : 0) | (mentionAll == nil ? 3 << Place.mentionAll : 0)
    }
}
