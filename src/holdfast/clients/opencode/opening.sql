-- find_model
-- The model that answered last in a session; a row that is not JSON is passed over.
select json_extract(data, '$.providerID'), json_extract(data, '$.modelID')
from message
where session_id = ?1
  and case when json_valid(data) then
    json_extract(data, '$.role') = 'assistant' and json_extract(data, '$.modelID') is not null
  end
order by time_created desc, id desc
limit 1
