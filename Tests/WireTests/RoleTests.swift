import Models
import Testing
import Wire

@Suite struct RoleTests {
    @Test("each request to the store is allowed to the roles that make it, and to no other")
    func storeRequests() {
        expect(
            StoreRequestKind.self, { $0.mayBeRequested(by: $1) }, \.askers,
            """
            createConversation    ingest
            sendMessages          ingest
            write                 ingest
            readMoved                     receipt
            putSettings           ingest
            revokeTokens          ingest
            importRecords         ingest
            dropImport            ingest
            putProfile            ingest
            eraseUser             ingest
            eraseStep                             store
            sendWithAttachments   ingest
            endDevices            ingest
            noteDevice                                   fanout
            suspendUser           ingest
            sendWhole             ingest
            expireMessages                        store
            recordAct             ingest
            endAct                ingest
            sendSealed            ingest
            sendScheduled                         store
            sendPoll              ingest
            sendForwarded         ingest
            trimHistory                           store
            listConversations     ingest
            conversation          ingest
            members               ingest
            history               ingest
            message               ingest
            changes               ingest
            revisions             ingest
            tapbacks              ingest
            sync                  ingest
            settings              ingest
            conversationSettings  ingest
            receipts              ingest
            search                ingest
            digest                ingest
            unreadTotal           ingest
            blocks                ingest
            profiles              ingest
            requests              ingest
            bans                  ingest
            invitations           ingest
            invitation            ingest
            devices               ingest
            pinnedMessages        ingest
            joinRequests          ingest
            mentions              ingest
            scheduled             ingest
            votes                 ingest
            forwardSource         ingest
            writtenMessages       ingest
            suspension            ingest
            reports               ingest
            report                ingest
            acts                  ingest
            exportedConversations ingest
            exportHead            ingest
            exportPage            ingest
            exportReceipts        ingest
            bootstrap                                    fanout
            replay                                       fanout
            privateReplay                                fanout
            positions                                    fanout
            senderCounts                                 fanout
            erasedUsers           ingest                 fanout media
            revocations           ingest                 fanout media
            mayReadAttachment                                   media
            statement                             store
            userRows                      receipt store
            """)
    }

    @Test("each request to media is allowed to the roles that make it, and to no other")
    func mediaRequests() {
        expect(
            MediaRequestKind.self, { $0.mayBeRequested(by: $1) }, \.askers,
            """
            attach   ingest
            release         store
            erase           store
            copy     ingest
            """)
    }

    @Test("each request to receipt is allowed to the roles that make it, and to no other")
    func receiptRequests() {
        expect(
            ReceiptRequestKind.self, { $0.mayBeRequested(by: $1) }, \.askers,
            """
            signal          ingest         fanout
            seen                           fanout
            importReceipts  ingest
            erase                   store
            dropReceipts    ingest
            forgetSeen                              receipt
            status                         fanout
            positions                      fanout
            lastSeen                       fanout
            peers                                   receipt
            seenPeers                               receipt
            """)
    }

    /// Compares every kind and role with a table: a row for each kind, with the roles that may make the request.
    private func expect<Kind: CaseIterable & Hashable>(
        _: Kind.Type, _ isAllowed: (Kind, Role?) -> Bool, _ askers: (Kind) -> Set<Role>, _ table: String
    ) {
        let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(rows.map { String($0[0]) } == Kind.allCases.map { "\($0)" })
        for (kind, row) in zip(Kind.allCases, rows) {
            let expected = Set(row.dropFirst().compactMap { Role(rawValue: String($0)) })
            #expect(expected.count == row.count - 1, "\(kind) names a role that there is not")
            #expect(askers(kind) == expected, "\(kind)")
            for role in Role.allCases {
                #expect(isAllowed(kind, role) == expected.contains(role), "\(kind) by \(role)")
            }
            #expect(isAllowed(kind, nil), "\(kind) by a role that is not known")
        }
    }

    @Test("a topic is published only by roles that have subscribers, and no role publishes all topics")
    func topics() {
        let group = SlotGroup(0)
        let topics: [Topic] = [
            .command(group), .receiptCommand(group), .response(.random()), .change(group), .privateChange(group),
            .status(group), .digest(group), .receiptDigest(group), .ephemeral(group), .erasure(group),
            .revocation(group), .mediaCommand(group), .served(group),
        ]
        for topic in topics {
            let publishers = Role.allCases.filter { topic.mayBePublished(by: $0) }
            #expect(!publishers.isEmpty, "\(topic)")
            // Every role sends requests to stores; each request is checked separately.
            #expect(publishers.count < Role.allCases.count || topic == .command(group), "\(topic)")
            #expect(publishers.allSatisfy { !$0.listeners.isEmpty })
        }
        #expect(Role.fanout.listeners == [.store, .receipt, .fanout])
        #expect(Role.receipt.listeners == [.ingest, .store, .receipt, .fanout])
        #expect(Role.ingest.listeners == [.store, .receipt, .media])
        #expect(Role.media.listeners == [.ingest, .store])
    }
}
