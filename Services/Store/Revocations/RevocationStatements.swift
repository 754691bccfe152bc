import Models
import Postgres
import Slots
import Wire

/// The statements of the revocation of tokens.
enum RevocationStatements {
    static let queries = [behind.untyped, ofSlots.untyped, devices.untyped]

    /// The maximum number of revocations in one response.
    static let rowsLimit = 2_000

    // MARK: Revoking

    struct RevokeInput: NamedFields {
        let user: UserInput
        let before: Parameter<Timestamp>
    }

    struct RevokeColumns: NamedFields {
        let number: Column<Int64>
        let before: Column<Timestamp>
        let isMoved: Column<Bool>
    }

    static let revoke = PreparedStatement<RevokeInput, RevokeColumns>(
        "revoke_tokens", PackageResources.revoke_tokens_sql, .store)

    static func add(_ revocation: RevokeTokens, to batch: inout Batch) {
        batch.execute(revoke) { parameters, input in
            parameters.set(input.user, to: revocation.user)
            parameters.set(input.before, to: revocation.before)
        }
    }

    // MARK: Devices

    struct DeviceInput: NamedFields {
        let user: UserInput
        let device: Parameter<String>
    }

    struct EndInput: NamedFields {
        let device: DeviceInput
        let isAllBut: Parameter<Bool>
        let before: Parameter<Timestamp>
    }

    struct EndColumns: NamedFields {
        let number: Column<Int64?>
        let before: Column<Timestamp?>
        let isMoved: Column<Bool>
    }

    struct NoteColumns: NamedFields { let isNew: Column<Bool> }

    struct DeviceColumns: NamedFields {
        let device: Column<String>
        let firstAt: Column<Timestamp>
        let lastAt: Column<Timestamp>
    }

    static let end = PreparedStatement<EndInput, EndColumns>("end_devices", PackageResources.end_devices_sql, .store)
    static let note = PreparedStatement<DeviceInput, NoteColumns>(
        "note_device", PackageResources.note_device_sql, .store)
    static let devices = PreparedStatement<UserInput, DeviceColumns>("devices", PackageResources.devices_sql, .store)

    // MARK: Queries

    struct SlotColumns: NamedFields {
        let slot: Column<Slot>
        let number: Column<Int64>
    }

    struct Columns: NamedFields {
        let lastNumber: Column<Int64>
        let number: Column<Int64?>
        let userId: Column<UserID>
        let device: Column<String?>
        let isAllBut: Column<Bool?>
        let before: Column<Timestamp>
    }

    static let ofSlots = PreparedStatement<SlotsInput, SlotColumns>(
        "revocations_of_slots", PackageResources.revocations_of_slots_sql, .store)
    static let behind = PreparedStatement<AfterNumberInput, Columns>(
        "revocations", PackageResources.revocations_sql, .store)
}
