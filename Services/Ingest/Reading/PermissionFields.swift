import JSON
import Models
import Wire

/// The body `{addMembers?, rename?, write?, mentionAll?}`: who may. What is missing, or null, stays as it is.
struct PermissionFields {
    private(set) var permissions = GroupPermissions()

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        var names: (addMembers: JSONString?, rename: JSONString?, write: JSONString?, mentionAll: JSONString?)
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                switch key {
                case "addMembers": names.addMembers = try reader.optionalSlice()
                case "rename": names.rename = try reader.optionalSlice()
                case "write": names.write = try reader.optionalSlice()
                case "mentionAll": names.mentionAll = try reader.optionalSlice()
                default: try reader.skip()
                }
            }
            try reader.end()
        }
        permissions.addMembers = try permitted("addMembers", names.addMembers)
        permissions.rename = try permitted("rename", names.rename)
        permissions.write = try permitted("write", names.write)
        permissions.mentionAll = try permitted("mentionAll", names.mentionAll)
    }

    private static let keys: JSONKeys = ["addMembers", "rename", "write", "mentionAll"]

    private func permitted(_ field: StaticString, _ name: JSONString?) throws(Problem) -> PermittedRoles? {
        guard let name else { return nil }
        guard let permitted = PermittedRoles.allCases.first(where: { name == $0.name }) else {
            throw Problem(.invalid, "\(field): must be members, admins or owners")
        }
        return permitted
    }
}

extension JSONReader {
    fileprivate mutating func optionalSlice() throws(JSONError) -> JSONString? { try consumeNull() ? nil : try slice() }
}
