import Models
import Postgres

/// What has become of an upload.
enum ObjectState: Int16, PostgresEnum {
    case uploading = 1
    /// Complete, and to be looked into.
    case processing = 2
    case ready = 3
    case refused = 4
    /// Nobody sees it any more; its bytes are to be removed.
    case deleted = 5

    /// As clients know it.
    var shown: MediaState {
        switch self {
        case .uploading: .uploading
        case .processing: .processing
        case .ready: .ready
        case .refused: .refused
        case .deleted: preconditionFailure("nobody sees it")
        }
    }
}

extension MediaID {
    /// That of its uploader.
    var slot: Slot { Slot(uuid.lastByte) }

    /// A new random id in the slot of its uploader.
    static func random(of uploader: UserID) -> MediaID {
        var random = SystemRandomNumberGenerator()
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return MediaID(UUIDBytes(high: high, low: low), of: uploader)
    }

    /// - Parameter uuid: any of version 4; its last byte becomes the slot.
    init(_ uuid: UUIDBytes, of uploader: UserID) {
        self.init(UUIDBytes(high: uuid.high, low: uuid.low & ~0xFF | UInt64(uploader.slot.number)))
    }
}
