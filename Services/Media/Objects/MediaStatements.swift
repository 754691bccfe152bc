import Models
import Postgres

/// The statements of media.
enum MediaStatements {
    // MARK: Uploads

    struct UserInput: NamedFields {
        let slot: Parameter<Slot>
        let user: Parameter<UserID>
    }

    struct ObjectInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
    }

    struct ObjectOfUserInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let user: Parameter<UserID>
    }

    struct CreateInput: NamedFields {
        let slot: Parameter<Slot>
        let user: Parameter<UserID>
        let id: Parameter<MediaID>
        let name: Parameter<String>
        let metadata: Parameter<String>
        let size: Parameter<Int64>
        let charge: Parameter<Int64>
        let claim: Parameter<Int64>
        let unfinishedLimit: Parameter<Int64>
        let dailyLimit: Parameter<Int64>
        let lifetimeSeconds: Parameter<Int64>
    }

    struct CreateColumns: NamedFields {
        let unfinished: Column<Int64>
        let used: Column<Int64>
        let secondsOfDay: Column<Int64>
        let expiresAt: Column<Timestamp?>
    }

    struct ClaimInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let user: Parameter<UserID>
        let offset: Parameter<Int64>
        let claim: Parameter<Int64>
    }

    struct ClaimColumns: NamedFields {
        let state: Column<ObjectState>
        let size: Column<Int64>
        let received: Column<Int64>
        let expiresAt: Column<Timestamp>
        let isClaimed: Column<Bool>
    }

    struct AdvanceInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let claim: Parameter<Int64>
        let received: Parameter<Int64>
        let sha256: Parameter<String?>
    }

    struct UsedColumns: NamedFields { let used: Column<Int64> }
    struct StateColumns: NamedFields { let state: Column<ObjectState> }
    struct HiddenColumns: NamedFields { let isHidden: Column<Bool> }

    static let lockUsage = PreparedStatement<UserInput, NoFields>(
        "lock_usage", PackageResources.lock_usage_sql, .media)
    static let usedToday = PreparedStatement<UserInput, UsedColumns>(
        "used_today", PackageResources.used_today_sql, .media)
    static let create = PreparedStatement<CreateInput, CreateColumns>(
        "create_upload", PackageResources.create_upload_sql, .media)
    static let claim = PreparedStatement<ClaimInput, ClaimColumns>(
        "claim_upload", PackageResources.claim_upload_sql, .media)
    static let advance = PreparedStatement<AdvanceInput, StateColumns>(
        "advance_upload", PackageResources.advance_upload_sql, .media)
    static let terminate = PreparedStatement<ObjectOfUserInput, HiddenColumns>(
        "terminate", PackageResources.terminate_sql, .media)
    static let object = PreparedStatement<ObjectInput, MediaObject.Columns>(
        "object", PackageResources.object_sql, .media)

    // MARK: Looking inside

    struct InspectionInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let isReady: Parameter<Bool>
        let version: Parameter<Int64?>
        let type: Parameter<String?>
        let sha256: Parameter<String?>
        let size: Parameter<Int64?>
        let reason: Parameter<String?>
        let width: Parameter<Int32?>
        let height: Parameter<Int32?>
        let durationMs: Parameter<Int64?>
        let thumbhash: Parameter<String?>
        let waveform: Parameter<String?>
        let thumbnails: Parameter<String?>
        let unsentSeconds: Parameter<Int64>
    }

    struct IDColumns: NamedFields { let id: Column<MediaID> }
    struct AttemptsColumns: NamedFields { let attempts: Column<Int16> }

    static let beginInspection = PreparedStatement<ObjectInput, AttemptsColumns>(
        "begin_inspection", PackageResources.begin_inspection_sql, .media)
    static let continueInspection = PreparedStatement<ObjectInput, NoFields>(
        "continue_inspection", PackageResources.continue_inspection_sql, .media)
    static let postpone = PreparedStatement<ObjectInput, NoFields>("postpone", PackageResources.postpone_sql, .media)
    static let finishInspection = PreparedStatement<InspectionInput, IDColumns>(
        "finish_inspection", PackageResources.finish_inspection_sql, .media)

    // MARK: Messages

    struct LockInput: NamedFields {
        let slot: Parameter<Slot>
        let media: Parameter<[MediaID]>
    }

    struct AttachInput: NamedFields {
        let slot: Parameter<Slot>
        let uploader: Parameter<UserID>
        let conversation: Parameter<ConversationID>
        let messages: Parameter<[MessageID]>
        let media: Parameter<[MediaID]>
    }

    struct AttachableInput: NamedFields {
        let slot: Parameter<Slot>
        let uploader: Parameter<UserID>
        let media: Parameter<[MediaID]>
    }

    struct CopyableInput: NamedFields {
        let slot: Parameter<Slot>
        let media: Parameter<[MediaID]>
        let conversation: Parameter<ConversationID>
        let message: Parameter<MessageID>
    }

    struct CopyableColumns: NamedFields {
        let id: Column<MediaID>
        let version: Column<Int64>
        let sha256: Column<String>
        let size: Column<Int64>
        let thumbnails: Column<String?>
        let facts: Column<String>
    }

    struct CreateCopyInput: NamedFields {
        let slot: Parameter<Slot>
        let user: Parameter<UserID>
        let id: Parameter<MediaID>
        let facts: Parameter<String>
        let charge: Parameter<Int64>
        let dailyLimit: Parameter<Int64>
    }

    struct ReleaseInput: NamedFields {
        let slot: Parameter<Slot>
        let uploader: Parameter<UserID>
        let conversation: Parameter<ConversationID>
        let message: Parameter<MessageID>
        let media: Parameter<[MediaID]>
    }

    struct CarriersInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let limit: Parameter<Int64>
        let offset: Parameter<Int64>
    }

    struct CarrierColumns: NamedFields {
        let conversationId: Column<ConversationID>
        let messageId: Column<MessageID>
        let isSent: Column<Bool>
    }

    struct CarrierFoundInput: NamedFields {
        let slot: Parameter<Slot>
        let id: Parameter<MediaID>
        let conversation: Parameter<ConversationID>
        let message: Parameter<MessageID>
        let isSent: Parameter<Bool>
    }

    struct CountColumns: NamedFields { let count: Column<Int64> }

    static let lockObjects = PreparedStatement<LockInput, IDColumns>(
        "lock_objects", PackageResources.lock_objects_sql, .media)
    static let attach = PreparedStatement<AttachInput, NoFields>("attach", PackageResources.attach_sql, .media)
    static let attachable = PreparedStatement<AttachableInput, MediaObject.Columns>(
        "attachable", PackageResources.attachable_sql, .media)
    static let copyable = PreparedStatement<CopyableInput, CopyableColumns>(
        "copyable", PackageResources.copyable_sql, .media)
    static let createCopy = PreparedStatement<CreateCopyInput, NoFields>(
        "create_copy", PackageResources.create_copy_sql, .media)
    static let release = PreparedStatement<ReleaseInput, NoFields>("release", PackageResources.release_sql, .media)
    static let carriers = PreparedStatement<CarriersInput, CarrierColumns>(
        "carriers", PackageResources.carriers_sql, .media)
    static let carrierFound = PreparedStatement<CarrierFoundInput, NoFields>(
        "carrier_found", PackageResources.carrier_found_sql, .media)
    static let erase = PreparedStatement<UserInput, CountColumns>("erase", PackageResources.erase_sql, .media)

    // MARK: Taking care

    struct SlotsInput: NamedFields { let slots: Parameter<[Slot]> }

    struct BacklogColumns: NamedFields {
        let files: Column<Int64>
        let bytes: Column<Int64>
    }

    struct RangeInput: NamedFields {
        let slots: Parameter<[Slot]>
        let after: Parameter<MediaID>
        let last: Parameter<MediaID>
    }

    struct ReadyColumns: NamedFields {
        let id: Column<MediaID>
        let version: Column<Int64>
        let sha256: Column<String>
        let size: Column<Int64>
        let thumbnails: Column<String?>
    }

    struct KeptInput: NamedFields {
        let slots: Parameter<[Slot]>
        let media: Parameter<[MediaID]>
    }

    struct KeptColumns: NamedFields {
        let id: Column<MediaID>
        let state: Column<ObjectState>
        let version: Column<Int64?>
    }

    struct KeyColumns: NamedFields { let key: Column<String> }

    static let due = PreparedStatement<SlotsInput, MediaObject.Columns>("due", PackageResources.due_sql, .media)
    static let processing = PreparedStatement<SlotsInput, IDColumns>(
        "processing", PackageResources.processing_sql, .media)
    static let backlog = PreparedStatement<SlotsInput, BacklogColumns>(
        "backlog", PackageResources.backlog_sql, .media)
    static let readyObjects = PreparedStatement<RangeInput, ReadyColumns>(
        "ready_objects", PackageResources.ready_objects_sql, .media)
    static let expire = PreparedStatement<ObjectInput, NoFields>("expire", PackageResources.expire_sql, .media)
    static let settle = PreparedStatement<ObjectInput, NoFields>("settle", PackageResources.settle_sql, .media)
    static let forget = PreparedStatement<ObjectInput, NoFields>(
        "forget_object", PackageResources.forget_object_sql, .media)
    static let kept = PreparedStatement<KeptInput, KeptColumns>("kept", PackageResources.kept_sql, .media)
    static let signingKey = PreparedStatement<NoFields, KeyColumns>(
        "signing_key", PackageResources.signing_key_sql, .media)

    static let writing: [Statement] = [
        lockUsage.untyped, usedToday.untyped, create.untyped, claim.untyped, advance.untyped, terminate.untyped,
        beginInspection.untyped, continueInspection.untyped, postpone.untyped, finishInspection.untyped,
        lockObjects.untyped, attach.untyped, attachable.untyped, createCopy.untyped, release.untyped,
        carrierFound.untyped, erase.untyped, due.untyped, expire.untyped, settle.untyped, forget.untyped,
    ]

    static let reading: [Statement] = [
        object.untyped, carriers.untyped, processing.untyped, kept.untyped, signingKey.untyped, backlog.untyped,
        readyObjects.untyped, copyable.untyped,
    ]
}

extension Parameters {
    mutating func set(_ input: MediaStatements.ObjectInput, to id: MediaID) {
        set(input.slot, to: id.slot)
        set(input.id, to: id)
    }
}
