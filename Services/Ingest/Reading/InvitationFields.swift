import JSON
import Models
import Wire

/// The body `{id, expiresAt?, maxUses?, approval?}` of an invitation.
struct InvitationFields {
    private var id: InvitationID?
    private var expiresAt: Timestamp?
    private var maxUses: Int64?
    private var approval = false

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["id", "expiresAt", "maxUses", "approval"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "id": id = try reader.consumeNull() ? nil : InvitationID(try reader.uuid())
            case "expiresAt": expiresAt = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            case "maxUses": maxUses = try reader.consumeNull() ? nil : try reader.integer()
            case "approval": approval = try reader.consumeNull() ? false : try reader.bool()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    func invitation(secret: UUIDBytes) throws(Problem) -> NewInvitation {
        guard let id else { throw .missing("id") }
        guard id.uuid.isChosenByClient else {
            throw Problem(.invalid, "id: must be a UUID of version 4 or 7 in lower case")
        }
        let most = Int64(ContractLimits.mostMembersPerConversation)
        if let maxUses, !(1...most).contains(maxUses) {
            throw Problem(.invalid, "maxUses: must be from 1 to \(most)")
        }
        return NewInvitation(
            id: id, secret: secret, expiresAt: expiresAt, maxUses: maxUses.map { Int32($0) }, needsApproval: approval)
    }
}
