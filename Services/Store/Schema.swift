import Postgres
import Slots

/// The schema `store`: the tables that only this service writes.
///
/// The names in `PackageResources` begin with an underscore because an identifier cannot begin with a digit.
enum Schema {
    static let name = "store"

    /// The first key of the advisory locks for slot ownership. The next number is used with it.
    static let slotLocks: Int32 = 7101

    /// The first key of the advisory locks for erasures of users. The second is the user's slot.
    static let erasureLocks: Int32 = 7103

    static var migrator: Migrator {
        Migrator(
            schema: name,
            [
                Migration(1, "ownership", sql: PackageResources._0001_ownership_sql),
                Migration(2, "conversations", sql: PackageResources._0002_conversations_sql),
                Migration(3, "messages", sql: PackageResources._0003_messages_sql),
                Migration(4, "private streams", sql: PackageResources._0004_private_streams_sql),
                Migration(5, "semantics", sql: PackageResources._0005_semantics_sql),
                Migration(6, "settings", sql: PackageResources._0006_settings_sql),
                Migration(7, "windows", sql: PackageResources._0007_windows_sql),
                Migration(8, "removals", sql: PackageResources._0008_removals_sql),
                Migration(9, "erasure", sql: PackageResources._0009_erasure_sql),
                Migration(10, "search", sql: PackageResources._0010_search_sql),
                Migration(11, "leavers", sql: PackageResources._0011_leavers_sql),
                Migration(12, "requests", sql: PackageResources._0012_requests_sql),
                Migration(13, "former members", sql: PackageResources._0013_former_members_sql),
                Migration(14, "growth", sql: PackageResources._0014_growth_sql),
                Migration(15, "revocations", sql: PackageResources._0015_revocations_sql),
                Migration(16, "imports", sql: PackageResources._0016_imports_sql),
                Migration(17, "merging", sql: PackageResources._0017_merging_sql),
                Migration(18, "attachments", sql: PackageResources._0018_attachments_sql),
                Migration(19, "search blocks", sql: PackageResources._0019_search_blocks_sql),
                Migration(20, "marks", sql: PackageResources._0020_marks_sql),
                Migration(21, "blocks", sql: PackageResources._0021_blocks_sql),
                Migration(22, "profiles", sql: PackageResources._0022_profiles_sql),
                Migration(23, "drafts", sql: PackageResources._0023_drafts_sql),
                Migration(24, "requests", sql: PackageResources._0024_requests_sql),
                Migration(25, "admins", sql: PackageResources._0025_admins_sql),
                Migration(26, "permissions", sql: PackageResources._0026_permissions_sql),
                Migration(27, "bans", sql: PackageResources._0027_bans_sql),
                Migration(28, "invitations", sql: PackageResources._0028_invitations_sql),
                Migration(29, "devices", sql: PackageResources._0029_devices_sql),
                Migration(30, "suspensions", sql: PackageResources._0030_suspensions_sql),
                Migration(31, "leaders", sql: PackageResources._0031_leaders_sql),
                Migration(32, "reports", sql: PackageResources._0032_reports_sql),
                Migration(33, "message extra", sql: PackageResources._0033_message_extra_sql),
                Migration(34, "pinned messages", sql: PackageResources._0034_pinned_messages_sql),
                Migration(35, "index of pinned messages", sql: PackageResources._0035_pinned_messages_index_sql),
                Migration(36, "lifetimes", sql: PackageResources._0036_lifetimes_sql),
                Migration(37, "join requests", sql: PackageResources._0037_join_requests_sql),
                Migration(38, "index of mentions", sql: PackageResources._0038_mentions_index_sql),
                Migration(39, "audit log", sql: PackageResources._0039_audit_log_sql),
                Migration(40, "sealed messages", sql: PackageResources._0040_sealed_messages_sql),
                Migration(41, "scheduled messages", sql: PackageResources._0041_scheduled_messages_sql),
                Migration(42, "new accounts", sql: PackageResources._0042_new_accounts_sql),
                Migration(43, "lifetimes from reading on", sql: PackageResources._0043_lifetimes_from_reading_sql),
                Migration(44, "polls", sql: PackageResources._0044_polls_sql),
                Migration(45, "forwarded messages", sql: PackageResources._0045_forwarded_messages_sql),
                Migration(46, "retention", sql: PackageResources._0046_retention_sql),
                Migration(47, "counts of tapbacks", sql: PackageResources._0047_tapback_counts_sql),
                Migration(48, "index of tapbacks", sql: PackageResources._0048_tapbacks_index_sql),
            ], publishing: Publications.store)
    }
}
