import Models
import Postgres
import Slots
import Wire

/// Reports users' read positions to their own devices. A position beyond the last reported one is written to the
/// private stream, and one row per written entry is returned.
///
/// Each key occurs once, and its user's stream is locked. Of two racing positions the lower is never reported after the
/// higher.
enum ReadStatement {
    static let statement = Statement(
        "tell_read", parameters: [.array(.int2), .array(.text), .array(.uuid), .array(.int8)],
        """
        WITH moved AS MATERIALIZED (
            UPDATE store.inbox i SET told_read_seq = n.read_seq
            FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::bigint[]) WITH ORDINALITY
                AS n(user_slot, user_id, conversation_id, read_seq, ordinal)
            WHERE i.user_slot = n.user_slot AND i.user_id = n.user_id AND i.conversation_id = n.conversation_id
              AND i.told_read_seq < n.read_seq
            RETURNING i.user_slot, i.user_id, i.slot, i.conversation_id, n.read_seq, n.ordinal
        ), stream AS (
            UPDATE store.user_streams s SET last_useq = s.last_useq + n.count
            FROM (SELECT user_slot, user_id, count(*) FROM moved GROUP BY 1, 2 ORDER BY 2, 1) n
            WHERE s.user_slot = n.user_slot AND s.user_id = n.user_id
            RETURNING s.user_slot, s.user_id, s.last_useq - n.count AS base,
                \(ChangeTime.now) AS at
        ), numbered AS MATERIALIZED (
            SELECT * FROM (
                SELECT user_slot, user_id, slot, conversation_id, read_seq, ordinal,
                    first_value(base) OVER stream + row_number() OVER stream - 1 AS useq,
                    first_value(at) OVER stream AS at
                FROM (
                    SELECT user_slot, user_id, base, at, NULL::smallint AS slot, NULL::uuid AS conversation_id,
                        NULL::bigint AS read_seq, NULL::bigint AS ordinal
                    FROM stream
                    UNION ALL
                    SELECT user_slot, user_id, NULL, NULL, slot, conversation_id, read_seq, ordinal FROM moved
                ) u
                WINDOW stream AS (PARTITION BY user_slot, user_id ORDER BY ordinal NULLS FIRST)
            ) w
            WHERE ordinal IS NOT NULL
        ), told AS (
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
            SELECT user_slot, user_id, useq, \(PrivateKind.readMoved.rawValue), at, slot, conversation_id, read_seq
            FROM numbered
        )
        SELECT ordinal, useq, at FROM numbered ORDER BY ordinal
        """)

    static func add(to batch: inout Batch, _ entries: [ReadPositions.Entry]) {
        batch.execute(statement) { parameters in
            parameters.addArray(of: .int2)
            for entry in entries { parameters.append(entry.user.slot) }
            parameters.addArray(of: .text)
            for entry in entries { parameters.append(entry.user) }
            parameters.addArray(of: .uuid)
            for entry in entries { parameters.append(entry.conversation) }
            parameters.addArray(of: .int8)
            for entry in entries { parameters.append(entry.readSeq) }
        }
    }

    /// A reported entry.
    struct Told {
        /// Its index in the run, from 0.
        let index: Int
        let useq: Int64
        let at: Timestamp
    }

    static func decode(_ row: Row) -> Told {
        let ordinal: Int64 = row[0]
        return Told(index: Int(ordinal) - 1, useq: row[1], at: row[2])
    }
}
