import Bytes
import Models

/// An invitation to be made. Whoever knows its secret may join, or ask to: that stands in the number of the action (`Write.Action`).
///
/// Layout: invitation 16 · secret 16 · expires at 8 (ms; `Timestamp.forever`: never) · uses at most 4 (0: any number).
public struct NewInvitation: WireCodable, Hashable {
    public var id: InvitationID
    /// Of the system's randomness.
    public var secret: UUIDBytes
    public var expiresAt: Timestamp?
    public var maxUses: Int32?
    /// Owners and admins decide who joins.
    public var needsApproval = false

    public init(
        id: InvitationID, secret: UUIDBytes, expiresAt: Timestamp? = nil, maxUses: Int32? = nil,
        needsApproval: Bool = false
    ) {
        self.id = id
        self.secret = secret
        self.expiresAt = expiresAt
        self.maxUses = maxUses
        self.needsApproval = needsApproval
    }

    func needingApproval() -> NewInvitation {
        var invitation = self
        invitation.needsApproval = true
        return invitation
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.invitation()
        secret = try reader.uuid()
        let time = try reader.time()
        expiresAt = time == .forever ? nil : time
        let uses: UInt32 = try reader.number()
        maxUses = uses == 0 ? nil : Int32(clamping: uses)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(id)
        buffer.append(bigEndian: secret)
        buffer.append(expiresAt ?? .forever)
        buffer.append(bigEndian: UInt32(maxUses ?? 0))
    }
}

/// `invitation`: what the code of an invitation tells of its group.
///
/// Layout: head · secret 16.
public struct InvitationQuery: WireCodable, Hashable {
    public var head: ConversationQuery
    public var secret: UUIDBytes

    public init(_ head: ConversationQuery, secret: UUIDBytes) {
        self.head = head
        self.secret = secret
    }

    public init(from bytes: inout ByteReader) throws(WireError) {
        head = try ConversationQuery(from: &bytes)
        secret = try bytes.uuid()
    }

    public func write(to buffer: inout ByteBuffer) {
        head.write(to: &buffer)
        buffer.append(bigEndian: secret)
    }
}
